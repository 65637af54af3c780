/** Half-open intervals [start, stop) of keys, ascending and disjoint. */

export type Interval = readonly [start: number, stop: number];

export function contains(intervals: readonly Interval[], index: number): boolean {
  return intervals.some(([start, stop]) => index >= start && index < stop);
}

export function totalLength(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, [start, stop]) => sum + stop - start, 0);
}

/** "[0, 64) [512, 813)", cut after `limit` intervals. */
export function intervalsText(intervals: readonly Interval[], limit: number): string {
  if (intervals.length === 0) return "no key";
  const shown = intervals.slice(0, limit).map(([start, stop]) => `[${start}, ${stop})`);
  const rest = intervals.length - shown.length;
  return rest > 0 ? `${shown.join(" ")} and ${rest} more` : shown.join(" ");
}
