/** Where the largest error of a tensor sits. */

import type { QuantityError, Run } from "../api/types";

export interface WorstPlace {
  batch: number;
  head: number;
  /** A key for dk and dv, else a query. */
  position: number;
  channel: number | null;
  /** A cell of the mask in that row or column, at the same position on the other side where there is one. */
  cell: { q: number; k: number };
}

export function isKeySide(quantity: QuantityError["quantity"]): boolean {
  return quantity === "dk" || quantity === "dv";
}

export function worstPlace(
  { quantity, worst_index }: Pick<QuantityError, "quantity" | "worst_index">,
  { q_len, kv_len }: Pick<Run, "q_len" | "kv_len">,
): WorstPlace | null {
  const [batch, head, position, channel = null] = worst_index ?? [];
  if (batch === undefined || head === undefined || position === undefined) return null;
  const q = isKeySide(quantity) ? Math.min(position, q_len - 1) : position;
  const k = isKeySide(quantity) ? position : Math.min(position, kv_len - 1);
  return { batch, head, position, channel, cell: { q, k } };
}

export interface WorstLine {
  side: "query" | "key";
  position: number;
  quantities: string[];
}

/** The rows and columns in which tensors are worst, each with all that are worst there. */
export function worstLines(run: Pick<Run, "errors" | "q_len" | "kv_len">): WorstLine[] {
  const lines: WorstLine[] = [];
  for (const row of run.errors) {
    const place = worstPlace(row, run);
    if (!place) continue;
    const side = isKeySide(row.quantity) ? "key" : "query";
    const known = lines.find((line) => line.side === side && line.position === place.position);
    if (known) known.quantities.push(row.quantity);
    else lines.push({ side, position: place.position, quantities: [row.quantity] });
  }
  return lines;
}

/**
 * For labels along an axis, each in which lane it stands so that none covers another: 0 nearest to the axis.
 * places: where along the axis, in pixels. gap: how near two labels of one lane may be.
 */
export function labelLanes(places: readonly number[], gap: number): number[] {
  const ends: number[] = [];
  const lanes = new Array<number>(places.length).fill(0);
  for (const index of [...places.keys()].sort((a, b) => (places[a] ?? 0) - (places[b] ?? 0))) {
    const place = places[index] ?? 0;
    const free = ends.findIndex((end) => place - end >= gap);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = place;
    lanes[index] = lane;
  }
  return lanes;
}
