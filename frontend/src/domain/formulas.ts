/** Trapezoids as formulas that a person can read. */

import type { RunFamily, RunRow } from "../api/types";

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

/** "64 ×, each 128 rows down, 128 keys right": one level of the repetition of a run. */
export function repeatText(first: RunRow, { count, rows, lo, hi }: RunFamily["repeats"][number]): string {
  const left = first.lo_slope * rows + lo;
  const right = first.hi_slope * rows + hi;
  const keys = left === right ? (left === 0 ? [] : [move(left, "key", "right", "left")]) : [ends(left, right)];
  return `${count} ×, each ${[...(rows === 0 ? [] : [move(rows, "row", "down", "up")]), ...keys].join(", ")}`;
}

function move(by: number, what: string, forward: string, back: string): string {
  const size = Math.abs(by);
  return `${size} ${size === 1 ? what : `${what}s`} ${by > 0 ? forward : back}`;
}

function ends(left: number, right: number): string {
  const signed = (value: number) => (value < 0 ? `−${-value}` : `+${value}`);
  return `ends ${signed(left)} and ${signed(right)}`;
}

export function keysText(run: RunRow): string {
  return `[${affine(run.lo_slope, run.lo_offset)}, ${affine(run.hi_slope, run.hi_offset)})`;
}

/** "rows [0, 512): keys [0, q + 1)". */
export function runText(run: RunRow): string {
  return `rows ${rowRange(run)}: keys ${keysText(run)}`;
}
