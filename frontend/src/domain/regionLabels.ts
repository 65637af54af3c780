/** What the rulers write on the regions along an axis, when there is room for it. */

import type { RegionSpan } from "../api/types";

export interface BandLabel {
  /** Pixels from the start of the axis, between which the text stands. */
  from: number;
  to: number;
  text: string;
}

interface Part {
  span: RegionSpan;
  from: number;
  to: number;
}

const PADDING = 6;

/** Shorter and shorter names of one instance, which never lose a number: "doc[2].R[3]", "2.R[3]", "2.3". */
export function shorterLabels(label: string): string[] {
  const parts = label.split(".");
  const short = parts.map((part) => part.match(/\[([^\]]*)\]$/)?.[1] ?? part);
  const outerShort = [...short.slice(0, -1), parts[parts.length - 1]];
  return [...new Set([label, outerShort.join("."), short.join(".")])];
}

/**
 * One text for each instance that has room for one; neighbours of one outermost region that have none share one, such as
 * "doc[4–19]". `spans` are ascending; `width` measures a text in pixels.
 */
export function bandLabels(
  spans: readonly RegionSpan[],
  start: number,
  scale: number,
  pixels: number,
  width: (text: string) => number,
): BandLabel[] {
  const labels: BandLabel[] = [];
  let crowd: Part[] = [];
  const flush = () => {
    const shared = crowd.length > 1 ? sharedLabel(crowd, width) : null;
    if (shared) labels.push(shared);
    crowd = [];
  };
  for (const span of spans) {
    const from = Math.max(0, (span.start - start) * scale);
    const to = Math.min(pixels, (span.stop - start) * scale);
    if (to <= from) continue;
    const text = shorterLabels(span.label).find((one) => width(one) <= to - from - PADDING);
    if (text !== undefined) {
      flush();
      labels.push({ from, to, text });
      continue;
    }
    if (crowd[0] && outermost(crowd[0].span.label) !== outermost(span.label)) flush();
    crowd.push({ span, from, to });
  }
  flush();
  return labels;
}

/** "doc" of "doc[2].R[3]". */
function outermost(label: string): string {
  return label.match(/^[^.[]+/)?.[0] ?? label;
}

function outermostNumber(label: string): string | null {
  return label.match(/^[^.[]+\[([^\]]*)\]/)?.[1] ?? null;
}

function sharedLabel(crowd: readonly Part[], width: (text: string) => number): BandLabel | null {
  const first = crowd[0] as Part;
  const last = crowd[crowd.length - 1] as Part;
  const name = outermost(first.span.label);
  const numbers = [outermostNumber(first.span.label), outermostNumber(last.span.label)];
  const range = numbers[0] === numbers[1] ? numbers[0] : `${numbers[0]}–${numbers[1]}`;
  const texts = numbers[0] === null ? [name] : [`${name}[${range}]`, `${range}`, name];
  const text = texts.find((one) => width(one) <= last.to - first.from - PADDING);
  return text === undefined ? null : { from: first.from, to: last.to, text };
}
