/** Tags of runs, as they are written: words behind commas. */

import type { Parsed } from "./valueText";

const TAG = /^[\p{L}\p{N}_.:/+-][\p{L}\p{N}_.:/+ -]{0,39}$/u;
const MOST = 16;

export function isTag(text: string): boolean {
  return TAG.test(text);
}

export function parseTags(text: string): Parsed<string[]> {
  const tags = [...new Set(text.split(",").map((tag) => tag.trim()))].filter(Boolean);
  const wrong = tags.find((tag) => !isTag(tag));
  if (wrong !== undefined)
    return { ok: false, message: `“${wrong}” is no tag: letters, digits and _ . : / + - make one, 40 at most` };
  if (tags.length > MOST) return { ok: false, message: `a run has ${MOST} tags at most` };
  return { ok: true, value: tags };
}
