import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";

interface SourceDiffProps {
  left: string;
  right: string;
  /** Looks and language of the editor. */
  extensions: readonly Extension[];
}

const NARROW = 620;
/** Texts are short, so that the least difference can be found, within a blink. */
const EFFORT = { scanLimit: 20_000, timeout: 300 };
const COLLAPSE = { margin: 3, minSize: 6 };

/** Both texts beside each other, or in one column where there is little room; lines that are alike are folded. */
export function SourceDiff({ left, right, extensions }: SourceDiffProps) {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = holder.current;
    if (!parent) return;
    const common = [
      ...extensions,
      lineNumbers(),
      EditorView.lineWrapping,
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
    ];
    const named = (name: string) => EditorView.contentAttributes.of({ "aria-label": name, tabindex: "0" });
    if (parent.clientWidth < NARROW) {
      const merged = unifiedMergeView({
        original: left,
        mergeControls: false,
        collapseUnchanged: COLLAPSE,
        diffConfig: EFFORT,
      });
      const view = new EditorView({ parent, doc: right, extensions: [...common, merged, named("Both texts")] });
      return () => view.destroy();
    }
    const view = new MergeView({
      parent,
      a: { doc: left, extensions: [...common, named("Left text")] },
      b: { doc: right, extensions: [...common, named("Right text")] },
      collapseUnchanged: COLLAPSE,
      diffConfig: EFFORT,
    });
    return () => view.destroy();
  }, [left, right, extensions]);
  return <div className="source-diff" ref={holder} />;
}
