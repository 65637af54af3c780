/** Which place of the text somebody is looking at: what the pointer is over, else where the cursor of the focused editor is. */

import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

/** Calls with the offset when it changes, and with null when neither pointer nor focus is in the editor. */
export function pointedPlace(onPointed: (offset: number | null) => void): Extension {
  let hovered: number | null = null;
  let told: number | null = null;
  const tell = (view: EditorView) => {
    const place = hovered ?? (view.hasFocus ? view.state.selection.main.head : null);
    if (place === told) return;
    told = place;
    onPointed(place);
  };
  return [
    EditorView.domEventHandlers({
      mousemove: (event, view) => {
        const place = view.posAtCoords({ x: event.clientX, y: event.clientY });
        // Beside and below the text there is no line to point at.
        const line = place === null ? null : view.lineBlockAt(place);
        const bottom = line ? view.documentTop + line.bottom : 0;
        hovered = place !== null && event.clientY <= bottom ? place : null;
        tell(view);
      },
      mouseleave: (_, view) => {
        hovered = null;
        tell(view);
      },
      focus: (_, view) => tell(view),
      // The editor still counts as focused while it is told that it no longer is.
      blur: (_, view) => void setTimeout(() => tell(view), 0),
    }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) hovered = null;
      if (update.selectionSet || update.docChanged || update.focusChanged) tell(update.view);
    }),
  ];
}
