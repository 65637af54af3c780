import type { Range } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";

/** The padding at the left of a line, as the editor's theme sets it. */
const LINE_PADDING = "6px";
/** How far the rest of a line stands behind its own start. */
const HANG = 4;

const indents = new Map<number, Decoration>();

function hanging(columns: number): Decoration {
  const known = indents.get(columns);
  if (known) return known;
  const made = Decoration.line({
    attributes: { style: `padding-left:calc(${LINE_PADDING} + ${columns}ch);text-indent:-${columns}ch` },
  });
  indents.set(columns, made);
  return made;
}

function indentsOf({ state, visibleRanges }: EditorView): DecorationSet {
  const found: Range<Decoration>[] = [];
  for (const { from, to } of visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = state.doc.lineAt(at);
      const leading = line.text.length - line.text.trimStart().length;
      found.push(hanging(Math.min(24, leading) + HANG).range(line.from));
      at = line.to + 1;
    }
  }
  return Decoration.set(found);
}

/** What does not fit into a line goes on under it, indented, so that lines are told from their rest. */
export const hangingIndent = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = indentsOf(view);
    }

    update(update: ViewUpdate) {
      if (update.docChanged || update.viewportChanged) this.decorations = indentsOf(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);
