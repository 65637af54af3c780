/** Quick fixes: edits of a text, in UTF-16 offsets into the text before any of them. */

import type { Edit } from "../api/types";

export function applyEdits(source: string, edits: readonly Edit[]): string {
  const fromTheEnd = [...edits].sort((a, b) => b.span.start - a.span.start);
  return fromTheEnd.reduce(
    (text, { span, text: insert }) => text.slice(0, span.start) + insert + text.slice(span.stop),
    source,
  );
}
