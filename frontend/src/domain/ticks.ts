/** Ruler marks. Token counts are mostly powers of two, so the steps are too. */

export interface Tick {
  index: number;
  /** Pixels from the start of the axis. */
  at: number;
}

/** Marks at multiples of a power of two, at least `minGap` pixels apart, over the visible part of [0, length). */
export function ticks(start: number, scale: number, pixels: number, length: number, minGap: number): Tick[] {
  let step = 1;
  while (step * scale < minGap) step *= 2;
  const first = Math.max(0, Math.ceil(start / step) * step);
  const stop = Math.min(length, start + pixels / scale);
  const marks: Tick[] = [];
  for (let index = first; index < stop; index += step) marks.push({ index, at: (index - start) * scale });
  return marks;
}
