/** Lines of the text that are lit, because they say what is pointed at elsewhere. */

import { type Extension, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";
import type { Span } from "../../api/types";

const setLit = StateEffect.define<readonly Span[]>();
const LIT = Decoration.line({ class: "cm-litLine" });

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (lit, transaction) => {
    let now = lit.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setLit)) continue;
      const { doc } = transaction.state;
      const starts = new Set<number>();
      for (const { start, stop } of effect.value) {
        const last = doc.lineAt(Math.min(Math.max(start, stop - 1), doc.length)).number;
        for (let line = doc.lineAt(Math.min(start, doc.length)).number; line <= last; line++)
          starts.add(doc.line(line).from);
      }
      now = Decoration.set([...starts].sort((a, b) => a - b).map((at) => LIT.range(at)));
    }
    return now;
  },
  provide: (lit) => EditorView.decorations.from(lit),
});

export const litLines: Extension = field;

/** Lights the lines of these spans and no others. */
export function lightLines(view: EditorView, spans: readonly Span[]): void {
  if (spans.length === 0 && view.state.field(field).size === 0) return;
  view.dispatch({ effects: setLit.of(spans) });
}
