/** Shapes that are outlined in the picture because they are chosen in a list. */

import type { QTile, RunFamily, RunRow } from "../api/types";
import type { Interval } from "./intervals";

/** Columns that are outlined together. solid: no test of single cells is needed there. */
export interface OutlinedKeys {
  keys: readonly Interval[];
  solid: boolean;
}

/** `run`: one trapezoid. `family`: a run and its repetitions. `cells`: every one of these rows with every one of these keys. */
export type Outline =
  | { kind: "run"; run: RunRow }
  | { kind: "family"; family: RunFamily }
  | { kind: "cells"; rows: readonly Interval[]; columns: readonly OutlinedKeys[] };

export function outlineOfTile(tile: QTile): Outline {
  return {
    kind: "cells",
    rows: tile.rows as Interval[],
    columns: tile.tiles.map(({ keys, full }) => ({ keys: keys as Interval[], solid: full })),
  };
}

export function outlineOfCells(rows: Interval, keys: Interval): Outline {
  return { kind: "cells", rows: [rows], columns: [{ keys: [keys], solid: true }] };
}

/** The members of a family that have a row in [from, to), at most `limit` of them. */
export function membersWithin({ first, repeats }: RunFamily, from: number, to: number, limit: number): RunRow[] {
  let members = [first];
  for (const repeat of repeats) {
    const next: RunRow[] = [];
    for (const run of members) {
      for (let i = 0; i < repeat.count && next.length < MAX_MEMBERS; i++) next.push(moved(run, repeat, i));
    }
    members = next;
  }
  return members.filter((run) => run.q_start < to && run.q_stop > from).slice(0, limit);
}

const MAX_MEMBERS = 50_000;

function moved(run: RunRow, step: RunFamily["repeats"][number], times: number): RunRow {
  return {
    ...run,
    q_start: run.q_start + times * step.rows,
    q_stop: run.q_stop + times * step.rows_stop,
    lo_offset: run.lo_offset + times * step.lo,
    hi_offset: run.hi_offset + times * step.hi,
  };
}

/** The smallest rectangle around an outline, or null for one without cells. */
export function outlineBounds(outline: Outline): { rows: Interval; keys: Interval } | null {
  if (outline.kind === "run") {
    const { run } = outline;
    const last = run.q_stop - 1;
    const at = (slope: number, offset: number, q: number) => slope * q + offset;
    const lo = Math.min(at(run.lo_slope, run.lo_offset, run.q_start), at(run.lo_slope, run.lo_offset, last));
    const hi = Math.max(at(run.hi_slope, run.hi_offset, run.q_start), at(run.hi_slope, run.hi_offset, last));
    return { rows: [run.q_start, run.q_stop], keys: [lo, hi] };
  }
  if (outline.kind === "family") return outlineBounds({ kind: "run", run: outline.family.first });
  const keys = outline.columns.flatMap((column) => column.keys);
  const rows = hull(outline.rows);
  const columns = hull(keys);
  return rows && columns ? { rows, keys: columns } : null;
}

function hull(intervals: readonly Interval[]): Interval | null {
  if (intervals.length === 0) return null;
  let [start, stop] = [Infinity, -Infinity];
  for (const [from, to] of intervals) {
    start = Math.min(start, from);
    stop = Math.max(stop, to);
  }
  return [start, stop];
}
