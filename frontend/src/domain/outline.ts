/** Shapes that are outlined in the picture because they are chosen in a list. */

import type { QTile, RunRow } from "../api/types";
import type { Interval } from "./intervals";

/** Columns that are outlined together. solid: no test of single cells is needed there. */
export interface OutlinedKeys {
  keys: readonly Interval[];
  solid: boolean;
}

/** `run`: one trapezoid. `cells`: every one of these rows with every one of these keys. */
export type Outline =
  | { kind: "run"; run: RunRow }
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
