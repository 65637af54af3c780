import type { ReactNode } from "react";
import type { Run } from "../../api/types";
import { formatInt, formatMs, formatMsRange, formatRate, formatSignificant } from "../../domain/format";
import { hasSpeed } from "../../domain/runText";
import { formatValue } from "../../domain/values";
import { Version } from "../../widgets/Version";

type Fact = [name: string, value: ReactNode, title?: string];

/** The fields of a run, by subject: how fast, what it was, where. */
export function RunFacts({ run }: { run: Run }) {
  return (
    <div className="run-column">
      <FactList title="Measurement" facts={measurement(run)} />
      <FactList title="Case" facts={theCase(run)} />
      <FactList
        title="Values"
        facts={Object.entries(run.values).map(([name, value]) => [name, <span key={name}>{formatValue(value)}</span>])}
      />
      <FactList title="Environment" facts={environment(run)} />
    </div>
  );
}

function measurement(run: Run): Fact[] {
  if (!hasSpeed(run))
    return [
      ["Speed", run.verdict === "passed" ? "not measured" : "not shown: only a result that is right is measured"],
    ];
  const ms = (value: number | null) => (value === null ? "–" : formatMs(value));
  return [
    ["Median", formatMs(run.median_ms)],
    ["20 % – 80 %", run.p20_ms === null || run.p80_ms === null ? "–" : formatMsRange(run.p20_ms, run.p80_ms)],
    ["Fastest", ms(run.min_ms)],
    ["Samples", formatInt(run.samples_ms.length)],
    ["Warm-up calls", run.warmup_runs === null ? "–" : formatInt(run.warmup_runs)],
    ["Rate", run.tflops === null ? "–" : formatRate(run.tflops), "visible pairs only"],
    ["Planning, warm", ms(run.plan_ms), "preparing the mask with new numbers, after everything was compiled"],
    ["Planning, cold", ms(run.plan_cold_ms), "the first time in its process"],
    ["First call", ms(run.first_call_ms), "compilation of kernels included"],
    ["Launching", ms(run.launch_ms), "time of the host before a call returns"],
    ["Cache", run.cache_state ?? "–"],
  ];
}

function theCase(run: Run): Fact[] {
  return [
    ["Mask", run.mask_name],
    [
      "Hash",
      <span key="hash" className="truncate" title={run.mask_hash}>
        {run.mask_hash.slice(0, 16)}
      </span>,
    ],
    ["Queries × keys", `${formatInt(run.q_len)} × ${formatInt(run.kv_len)}`],
    ["Visible pairs", formatInt(run.visible_pairs)],
    ["Density", formatSignificant(run.density)],
    ["Provider", run.provider],
    ["Detail", run.impl_detail ?? "–"],
    ["Batch", formatInt(run.batch)],
    ["Query / key heads", `${run.num_q_heads} / ${run.num_kv_heads}`],
    ["head_dim", formatInt(run.head_dim)],
    ["dtype", run.dtype],
    ["Direction", run.direction],
    ["Seed", String(run.seed)],
  ];
}

function environment(run: Run): Fact[] {
  return [
    ["device", run.device ?? "–"],
    ...Object.entries(run.environment)
      .filter(([name]) => name !== "device")
      .map(([name, value]): Fact => [name, <Version key={name} name={name} text={value} />]),
  ];
}

function FactList({ title, facts }: { title: string; facts: Fact[] }) {
  if (facts.length === 0) return null;
  return (
    <section className="card">
      <h2>{title}</h2>
      <dl className="facts">
        {facts.map(([name, value, why]) => (
          <div key={name}>
            <dt title={why}>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
