import type { ReactNode } from "react";
import type { Run } from "../../api/types";
import { formatError, formatInt, formatMs, formatRate, formatSignificant } from "../../domain/format";
import { errorText, hasSpeed } from "../../domain/runText";
import { formatValue } from "../../domain/values";

type Fact = [name: string, value: ReactNode, title?: string];

/** All fields of a run, by subject: first whether it is right, then how fast, then what it was and where. */
export function RunFacts({ run }: { run: Run }) {
  return (
    <div className="run-column">
      <FactList title="Verification" facts={verification(run)} />
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

function verification(run: Run): Fact[] {
  const error = (value: number | null, field: string) =>
    value === null ? (run.nonfinite?.[field] ?? "–") : formatError(value);
  return [
    ["largest error", errorText(run), "against dense attention in float64"],
    [
      "allowed",
      error(run.tolerance, "tolerance"),
      "twice the error of plain dense attention in this dtype, and one unit in the last place",
    ],
    ["mean error", error(run.mean_error, "mean_error")],
    ["yardstick error", error(run.yardstick_error, "yardstick_error"), "plain dense attention in the same dtype"],
    ["lse error", error(run.lse_max_error, "lse_max_error")],
    [
      "rows checked",
      run.rows_checked === null
        ? "–"
        : `${formatInt(run.rows_checked)} of ${formatInt(run.rows_total ?? run.rows_checked)}`,
    ],
    ["worst at", run.worst_index ? `[${run.worst_index.join(", ")}]` : "–", "batch, head, row, channel"],
  ];
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
    ["planning", ms(run.plan_ms)],
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
