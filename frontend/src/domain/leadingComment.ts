/** The comment that a text begins with, so that an editor can fold it and show the rules at first sight. */

const WORTH_FOLDING = 3;

/** [from, to) from the end of the comment's first line to its last line's end; null when it is short or there is none. */
export function leadingComment(text: string): { from: number; to: number } | null {
  let at = 0;
  let lines = 0;
  let from = -1;
  let to = -1;
  while (at < text.length) {
    const newline = text.indexOf("\n", at);
    const stop = newline < 0 ? text.length : newline;
    const line = text.slice(at, stop).trim();
    if (line !== "" && !line.startsWith("#")) break;
    if (line.startsWith("#")) {
      lines += 1;
      if (from < 0) from = stop;
      to = stop;
    }
    at = stop + 1;
  }
  const more = text.slice(Math.max(to, 0)).trim() !== "";
  return lines >= WORTH_FOLDING && more ? { from, to } : null;
}
