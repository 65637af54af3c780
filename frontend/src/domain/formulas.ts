/** Trapezoids as formulas that a person can read. */

import type { RunRow } from "../api/types";

/** slope * q + offset: "0", "q", "q + 1", "q − 63", "2q + 3". */
export function affine(slope: number, offset: number): string {
  if (slope === 0) return String(offset).replace("-", "−");
  const term = slope === 1 ? "q" : slope === -1 ? "−q" : `${String(slope).replace("-", "−")}q`;
  if (offset === 0) return term;
  return offset > 0 ? `${term} + ${offset}` : `${term} − ${-offset}`;
}

/** "[0, 512)": half-open, as the keys are. */
export function rowRange(run: RunRow): string {
  return `[${run.q_start}, ${run.q_stop})`;
}

export function keysText(run: RunRow): string {
  return `[${affine(run.lo_slope, run.lo_offset)}, ${affine(run.hi_slope, run.hi_offset)})`;
}

/** "rows [0, 512): keys [0, q + 1)". */
export function runText(run: RunRow): string {
  return `rows ${rowRange(run)}: keys ${keysText(run)}`;
}
