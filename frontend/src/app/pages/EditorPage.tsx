import { useQuery } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { readLanguage } from "../../api/calls";
import type { Diagnostic, Word } from "../../api/types";
import type { ThemeName } from "../../domain/palette";
import { DraftTabs } from "../../panes/drafts/DraftTabs";
import type { CodeEditorHandle } from "../../panes/editor/CodeEditor";
import { EditorPane } from "../../panes/editor/EditorPane";
import type { InspectorTab } from "../../panes/inspector/InspectorPane";
import { ParametersPane } from "../../panes/parameters/ParametersPane";
import { SplitHandle } from "../../widgets/SplitHandle";
import { useEditorCommands, useSaveKey } from "../useEditorCommands";
import { usePaneWidths } from "../usePaneWidths";
import { useRunKeys } from "../useRunKeys";
import type { OpenWorkspace } from "../useWorkspace";
import { EditorActions } from "./EditorActions";
import { EditorDialogs, type OpenedDialog } from "./EditorDialogs";
import { MaskSide } from "./MaskSide";
import { StatusBar } from "./StatusBar";

interface EditorPageProps {
  studio: OpenWorkspace;
  theme: ThemeName;
}

const NO_WORDS: Word[] = [];
const NO_DIAGNOSTICS: Diagnostic[] = [];

/** Text and parameters at the left, the picture in the middle, what is known about it at the right. */
export function EditorPage({ studio, theme }: EditorPageProps) {
  const { workspace, state, book, drafts } = studio;
  const [opened, setOpened] = useState<OpenedDialog>(null);
  const [tab, setTab] = useState<InspectorTab>("numbers");
  const [pointedAt, setPointedAt] = useState<number | null>(null);
  const editor = useRef<CodeEditorHandle>(null);
  const commands = useEditorCommands(workspace, book, editor);
  const { left, right, setLeft, setRight } = usePaneWidths();
  const words = useQuery({
    queryKey: ["language"],
    queryFn: ({ signal }) => readLanguage(signal),
    staleTime: Infinity,
  });
  const { result, mask, fresh } = state;
  const failed = result?.diagnostics.some((diagnostic) => diagnostic.severity === "error") ?? false;
  const close = useCallback(() => setOpened(null), []);
  const run = () => {
    if (failed) setTab("problems");
    else setOpened("launch");
  };
  useRunKeys(() => workspace.compileNow(), run);
  useSaveKey(() => state.ready && setOpened("save"));

  return (
    <>
      <h1 className="visually-hidden">Mask editor</h1>
      <EditorActions
        tabs={
          <DraftTabs
            tabs={drafts.tabs}
            active={drafts.active}
            onActivate={(id) => book.activate(id)}
            onClose={commands.close}
            onNew={() => book.begin(null)}
            onDuplicate={() => book.begin(workspace.draft())}
          />
        }
        ready={state.ready}
        failed={failed}
        onGallery={() => setOpened("gallery")}
        onHistory={() => setOpened("history")}
        onDiff={() => void commands.diff()}
        onShare={() => setOpened("share")}
        onSave={() => setOpened("save")}
        onRun={run}
      />
      <div className="editor-page" style={{ "--left": `${left}px`, "--right": `${right}px` } as React.CSSProperties}>
        <div className="editor-left">
          <EditorPane
            docId={state.draftId ?? ""}
            source={state.source}
            words={words.data ?? NO_WORDS}
            diagnostics={fresh && result ? result.diagnostics : null}
            onChange={(source) => workspace.edit(source)}
            onCompile={() => workspace.compileNow()}
            onRun={run}
            onPointed={setPointedAt}
            onFormat={() => void commands.format()}
            editor={editor}
          />
          <ParametersPane
            program={state.program}
            waiting={result === null && !state.fault}
            values={workspace.shownValues()}
            assumed={result?.assumed ?? []}
            diagnostics={fresh && result ? result.diagnostics : NO_DIAGNOSTICS}
            onValue={(name, value) => workspace.setValue(name, value)}
            onExample={(values) => workspace.setValues(values)}
          />
        </div>
        <SplitHandle label="Width of the program" side="before" value={left} min={260} max={720} onChange={setLeft} />
        <MaskSide
          workspace={workspace}
          state={state}
          theme={theme}
          editor={editor}
          pointedAt={pointedAt}
          tab={tab}
          onTab={setTab}
          width={right}
          onWidth={setRight}
        />
      </div>
      <StatusBar state={state} kept={drafts.kept} />
      <EditorDialogs opened={opened} onClose={close} studio={studio} theme={theme} failed={failed} mask={mask} />
    </>
  );
}
