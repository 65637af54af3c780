/** Regions along an axis. */

import type { RegionSpan } from "../api/types";

/** The region instance that holds a token, or null. Spans are disjoint and ascending. */
export function regionAt(regions: readonly RegionSpan[], index: number): RegionSpan | null {
  let low = 0;
  let high = regions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const span = regions[middle];
    if (span === undefined) return null;
    if (index < span.start) high = middle;
    else if (index >= span.stop) low = middle + 1;
    else return span;
  }
  return null;
}

/** The regions that overlap [start, stop), without the empty ones, and how many there are before them. */
export function regionsWithin(
  regions: readonly RegionSpan[],
  start: number,
  stop: number,
): { shown: RegionSpan[]; first: number } {
  let low = 0;
  let high = regions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((regions[middle] as RegionSpan).stop > start) high = middle;
    else low = middle + 1;
  }
  const shown: RegionSpan[] = [];
  for (let at = low; at < regions.length; at++) {
    const span = regions[at] as RegionSpan;
    if (span.start >= stop) break;
    if (span.stop > span.start) shown.push(span);
  }
  return { shown, first: low };
}

/** "query 812 (T, token 40)": an index with the region that it lies in, and the token where another one is stored there. */
export function place(
  axis: "query" | "key",
  index: number,
  regions: readonly RegionSpan[],
  token: number | null = null,
): string {
  const known = [regionAt(regions, index)?.label, token === null ? undefined : `token ${token}`].filter(Boolean);
  return known.length > 0 ? `${axis} ${index} (${known.join(", ")})` : `${axis} ${index}`;
}
