/** The comment at the head of a text is folded when it is opened, so that the rules are in sight. */

import { codeFolding, foldEffect, foldGutter, foldKeymap, foldService } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { leadingComment } from "../../domain/leadingComment";

export const folding: Extension = [
  codeFolding({
    placeholderDOM: (_, onclick) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "cm-foldPlaceholder";
      button.textContent = "…";
      button.title = "Show the whole comment";
      button.setAttribute("aria-label", "Show the whole comment");
      button.addEventListener("click", onclick);
      return button;
    },
  }),
  foldGutter({ openText: "▾", closedText: "▸" }),
  foldService.of((state, lineStart) => {
    const comment = leadingComment(state.doc.toString());
    return comment && state.doc.lineAt(comment.from).from === lineStart ? comment : null;
  }),
  keymap.of(foldKeymap),
  EditorView.theme({
    ".cm-foldPlaceholder": {
      margin: "0 4px",
      padding: "0 5px",
      border: "1px solid var(--line-strong)",
      borderRadius: "4px",
      backgroundColor: "var(--hover)",
      color: "var(--ink-soft)",
    },
    ".cm-foldGutter span": { color: "var(--ink-faint)" },
  }),
];

export function foldLeadingComment(view: EditorView): void {
  const comment = leadingComment(view.state.doc.toString());
  if (comment) view.dispatch({ effects: foldEffect.of(comment) });
}
