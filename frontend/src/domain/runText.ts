/** A run in words. */

import type { Run } from "../api/types";
import { formatError, formatInt } from "./format";

/** The largest error; NaN and infinities are named by the server, since JSON has no number for them. */
export function errorText(run: Pick<Run, "max_error" | "error_text" | "nonfinite">): string {
  if (run.max_error !== null) return formatError(run.max_error);
  return run.error_text ?? run.nonfinite?.max_error ?? "–";
}

export function shapeText(run: Pick<Run, "batch" | "num_q_heads" | "num_kv_heads" | "head_dim">): string {
  const heads =
    run.num_q_heads === run.num_kv_heads ? String(run.num_q_heads) : `${run.num_q_heads}/${run.num_kv_heads}`;
  return `${run.batch} × ${heads} × ${run.head_dim}`;
}

export function sizeText(run: Pick<Run, "q_len" | "kv_len">): string {
  return run.q_len === run.kv_len ? formatInt(run.q_len) : `${formatInt(run.q_len)} × ${formatInt(run.kv_len)}`;
}

export function isActive(run: Pick<Run, "state">): boolean {
  return run.state === "queued" || run.state === "running";
}

/** Whether a speed may be shown: only for a result that was found right. */
export function hasSpeed(run: Run): run is Run & { median_ms: number } {
  return run.verdict === "passed" && run.median_ms !== null;
}

/** Why its times should be read with care, and what the provider had to say, which may be the same in other words. */
export function cautions({ flags, remarks }: Pick<Run, "flags" | "remarks">): string[] {
  const unsettled = flags.some((flag) => flag.startsWith("unsettled"));
  return [...flags, ...remarks.filter((remark) => !(unsettled && remark.includes("had not settled")))];
}

/** "torch 2.13.0, triton 3.9.0": the versions that matter, from the environment. */
export function versionsText(environment: Readonly<Record<string, string>>): string {
  return ["torch", "triton", "cuda"]
    .filter((name) => environment[name])
    .map((name) => `${name} ${environment[name]}`)
    .join(", ");
}
