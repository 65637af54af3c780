import { type Ref, useState } from "react";
import type { Diagnostic, Word } from "../../api/types";
import { Tabs } from "../../widgets/Tabs";
import { CodeEditor, type CodeEditorHandle } from "./CodeEditor";
import { WordList } from "./WordList";

interface EditorPaneProps {
  source: string;
  words: readonly Word[];
  diagnostics: readonly Diagnostic[] | null;
  onChange: (source: string) => void;
  onCompile: () => void;
  onRun: () => void;
  /** The place in the text that the pointer rests on, or else the cursor; null when it is in neither. */
  onPointed: (offset: number | null) => void;
  editor: Ref<CodeEditorHandle>;
}

const TABS = [
  { id: "program", label: "Program" },
  { id: "words", label: "Language" },
] as const;

/** The text, and beside it as a second tab what each word of the language means. */
export function EditorPane({
  source,
  words,
  diagnostics,
  onChange,
  onCompile,
  onRun,
  onPointed,
  editor,
}: EditorPaneProps) {
  const [tab, setTab] = useState<"program" | "words">("program");
  return (
    <section className="editor-pane" aria-label="Program">
      <Tabs label="Program" name="editor" items={TABS} active={tab} onSelect={setTab} />
      <div className="editor-body" role="tabpanel" id="editor-panel" aria-labelledby={`editor-tab-${tab}`}>
        <div className="editor-layer" hidden={tab !== "program"}>
          <CodeEditor
            ref={editor}
            source={source}
            words={words}
            diagnostics={diagnostics}
            onChange={onChange}
            onCompile={onCompile}
            onRun={onRun}
            onPointed={onPointed}
          />
        </div>
        {tab === "words" && <WordList words={words} />}
      </div>
    </section>
  );
}
