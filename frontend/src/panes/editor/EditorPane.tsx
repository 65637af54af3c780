import { type Ref, useState } from "react";
import type { Diagnostic, Word } from "../../api/types";
import { Button } from "../../widgets/Button";
import { Tabs } from "../../widgets/Tabs";
import { CodeEditor, type CodeEditorHandle } from "./CodeEditor";
import { WordList } from "./WordList";

interface EditorPaneProps {
  docId: string;
  source: string;
  words: readonly Word[];
  diagnostics: readonly Diagnostic[] | null;
  onChange: (source: string) => void;
  onCompile: () => void;
  onRun: () => void;
  /** The place in the text that the pointer rests on, or else the cursor; null when it is in neither. */
  onPointed: (offset: number | null) => void;
  onFormat: () => void;
  editor: Ref<CodeEditorHandle>;
}

const TABS = [
  { id: "program", label: "Program" },
  { id: "words", label: "Language" },
] as const;

/** The text, and beside it as a second tab what each word of the language means. */
export function EditorPane(props: EditorPaneProps) {
  const { docId, source, words, diagnostics, onChange, onCompile, onRun, onFormat, onPointed, editor } = props;
  const [tab, setTab] = useState<"program" | "words">("program");
  return (
    <section className="editor-pane" aria-label="Program">
      <div className="pane-head">
        <Tabs label="Program" name="editor" items={TABS} active={tab} onSelect={setTab} />
        <Button small look="quiet" onClick={onFormat} title="Write the text in its canonical layout (Shift+Alt+F)">
          Format
        </Button>
      </div>
      <div className="editor-body" role="tabpanel" id="editor-panel" aria-labelledby={`editor-tab-${tab}`}>
        <div className="editor-layer" hidden={tab !== "program"}>
          <CodeEditor
            ref={editor}
            docId={docId}
            source={source}
            words={words}
            diagnostics={diagnostics}
            onChange={onChange}
            onCompile={onCompile}
            onRun={onRun}
            onPointed={onPointed}
            onFormat={onFormat}
          />
        </div>
        {tab === "words" && <WordList words={words} />}
      </div>
    </section>
  );
}
