import type { EditorView } from "@codemirror/view";

/** Changes only what differs, so that cursor, folds and marks outside of it stay. */
export function replaceText(view: EditorView, text: string): void {
  const now = view.state.doc.toString();
  if (now === text) return;
  const limit = Math.min(now.length, text.length);
  let from = 0;
  while (from < limit && now[from] === text[from]) from += 1;
  let end = 0;
  while (end < limit - from && now[now.length - 1 - end] === text[text.length - 1 - end]) end += 1;
  view.dispatch({ changes: { from, to: now.length - end, insert: text.slice(from, text.length - end) } });
}
