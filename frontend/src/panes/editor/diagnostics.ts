/** The server's diagnostics as squiggles: message, hint, labelled second places, quick fixes. */

import { type Diagnostic as Mark, setDiagnostics } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import type { Diagnostic, Fix } from "../../api/types";
import { lineElement } from "./docElements";

export function showDiagnostics(view: EditorView, diagnostics: readonly Diagnostic[]): void {
  const length = view.state.doc.length;
  const marks = diagnostics.flatMap((diagnostic) => marksOf(diagnostic, length));
  view.dispatch(
    setDiagnostics(
      view.state,
      marks.sort((a, b) => a.from - b.from),
    ),
  );
}

function marksOf(diagnostic: Diagnostic, length: number): Mark[] {
  const place = (span: { start: number; stop: number }) => ({
    from: Math.min(span.start, length),
    to: Math.min(Math.max(span.stop, span.start), length),
  });
  const main: Mark = {
    ...place(diagnostic.span),
    severity: diagnostic.severity,
    source: diagnostic.code,
    message: diagnostic.message,
    renderMessage: () => messageElement(diagnostic),
    actions: diagnostic.fixes.map((fix) => ({
      name: fix.title.replaceAll("`", ""),
      apply: (view) => applyFix(view, fix),
    })),
  };
  const labels = diagnostic.labels
    .filter((label) => label.message !== "")
    .map((label): Mark => ({ ...place(label.span), severity: "info", message: label.message }));
  return [main, ...labels];
}

function messageElement(diagnostic: Diagnostic): HTMLElement {
  const box = document.createElement("div");
  box.append(lineElement(diagnostic.message));
  if (diagnostic.hint) box.append(lineElement(diagnostic.hint, "diagnostic-hint"));
  return box;
}

export function applyFix(view: EditorView, fix: Fix): void {
  const length = view.state.doc.length;
  view.dispatch({
    changes: fix.edits
      .filter((edit) => edit.span.stop <= length)
      .map((edit) => ({ from: edit.span.start, to: edit.span.stop, insert: edit.text })),
    userEvent: "input.fix",
    scrollIntoView: true,
  });
  view.focus();
}
