import type { ReactNode } from "react";
import type { Run } from "../../api/types";
import { formatInt, formatMs, formatRate, formatSignificant } from "../../domain/format";
import { hasSpeed } from "../../domain/runText";
import { formatValue } from "../../domain/values";

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
      ["speed", run.verdict === "passed" ? "not measured" : "not shown: only a result that is right is measured"],
    ];
  const ms = (value: number | null) => (value === null ? "–" : formatMs(value));
  return [
    ["median", formatMs(run.median_ms)],
    ["20 % – 80 %", `${ms(run.p20_ms)} – ${ms(run.p80_ms)}`],
    ["fastest", ms(run.min_ms)],
    ["samples", formatInt(run.samples_ms.length)],
    ["warm-up calls", run.warmup_runs === null ? "–" : formatInt(run.warmup_runs)],
    ["rate", run.tflops === null ? "–" : formatRate(run.tflops), "visible pairs only"],
    ["planning, warm", ms(run.plan_ms), "preparing the mask with new numbers, after everything was compiled"],
    ["planning, cold", ms(run.plan_cold_ms), "the first time in its process"],
    ["first call", ms(run.first_call_ms), "compilation of kernels included"],
    ["launching", ms(run.launch_ms), "time of the host before a call returns"],
    ["cache", run.cache_state ?? "–"],
  ];
}

function theCase(run: Run): Fact[] {
  return [
    ["mask", run.mask_name],
    [
      "hash",
      <span key="hash" className="truncate" title={run.mask_hash}>
        {run.mask_hash.slice(0, 16)}
      </span>,
    ],
    ["queries × keys", `${formatInt(run.q_len)} × ${formatInt(run.kv_len)}`],
    ["visible pairs", formatInt(run.visible_pairs)],
    ["density", formatSignificant(run.density)],
    ["provider", run.provider],
    ["detail", run.impl_detail ?? "–"],
    ["batch", formatInt(run.batch)],
    ["query / key heads", `${run.num_q_heads} / ${run.num_kv_heads}`],
    ["head_dim", formatInt(run.head_dim)],
    ["dtype", run.dtype],
    ["direction", run.direction],
    ["seed", String(run.seed)],
  ];
}

function environment(run: Run): Fact[] {
  return [
    ["device", run.device ?? "–"],
    ...Object.entries(run.environment).map(([name, value]): Fact => [name, value]),
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
