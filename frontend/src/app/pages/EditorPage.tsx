import { useQuery } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { exportPython, readLanguage } from "../../api/calls";
import type { Word } from "../../api/types";
import type { Draft, SavedDraft } from "../../domain/drafts";
import type { ThemeName } from "../../domain/palette";
import { encodeFragment } from "../../domain/shareLink";
import { DraftsDialog } from "../../panes/drafts/DraftsDialog";
import type { CodeEditorHandle } from "../../panes/editor/CodeEditor";
import { EditorPane } from "../../panes/editor/EditorPane";
import { GalleryDialog } from "../../panes/gallery/GalleryDialog";
import type { InspectorTab } from "../../panes/inspector/InspectorPane";
import { LaunchDialog } from "../../panes/launch/LaunchDialog";
import { ParametersPane } from "../../panes/parameters/ParametersPane";
import { SplitHandle } from "../../widgets/SplitHandle";
import { useToast } from "../../widgets/Toasts";
import { saveFile } from "../saveFile";
import { usePaneWidths } from "../usePaneWidths";
import { useRunKeys } from "../useRunKeys";
import type { Workspace, WorkspaceState } from "../workspace";
import { EditorActions } from "./EditorActions";
import { MaskSide } from "./MaskSide";
import { StatusBar } from "./StatusBar";

interface EditorPageProps {
  workspace: Workspace;
  state: WorkspaceState;
  open: (draft: Draft) => void;
  theme: ThemeName;
  drafts: readonly SavedDraft[];
  forget: (id: string) => void;
}

type Opened = "gallery" | "drafts" | "launch" | null;

const NO_WORDS: Word[] = [];

/** Text and parameters at the left, the picture in the middle, what is known about it at the right. */
export function EditorPage({ workspace, state, open, theme, drafts, forget }: EditorPageProps) {
  const [opened, setOpened] = useState<Opened>(null);
  const [tab, setTab] = useState<InspectorTab>("numbers");
  const [pointedAt, setPointedAt] = useState<number | null>(null);
  const editor = useRef<CodeEditorHandle>(null);
  const toast = useToast();
  const { left, right, setLeft, setRight } = usePaneWidths();
  const words = useQuery({
    queryKey: ["language"],
    queryFn: ({ signal }) => readLanguage(signal),
    staleTime: Infinity,
  });
  const { result, mask, fresh } = state;
  const failed = result?.diagnostics.some((diagnostic) => diagnostic.severity === "error") ?? false;
  const close = useCallback(() => setOpened(null), []);
  const choose = (draft: Draft) => {
    open(draft);
    close();
  };
  const download = () => {
    const { source, values } = workspace.draft();
    exportPython(source, values).then(saveFile, (error: Error) => toast({ text: error.message }));
  };
  const run = () => {
    if (failed) setTab("problems");
    else setOpened("launch");
  };
  useRunKeys(() => workspace.compileNow(), run);

  return (
    <>
      <h1 className="visually-hidden">Mask editor</h1>
      <EditorActions
        name={state.program?.name ?? null}
        ready={state.ready}
        failed={failed}
        onGallery={() => setOpened("gallery")}
        onDrafts={() => setOpened("drafts")}
        link={async () => `${location.origin}/${await encodeFragment(workspace.draft())}`}
        onExport={download}
        onRun={run}
      />
      <div className="editor-page" style={{ "--left": `${left}px`, "--right": `${right}px` } as React.CSSProperties}>
        <div className="editor-left">
          <EditorPane
            source={state.source}
            words={words.data ?? NO_WORDS}
            diagnostics={fresh && result ? result.diagnostics : null}
            onChange={(source) => workspace.edit(source)}
            onCompile={() => workspace.compileNow()}
            onRun={run}
            onPointed={setPointedAt}
            editor={editor}
          />
          <ParametersPane
            program={state.program}
            values={workspace.shownValues()}
            assumed={result?.assumed ?? []}
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
      <StatusBar state={state} />
      {opened === "gallery" && <GalleryDialog theme={theme} onOpen={choose} onClose={close} />}
      {opened === "drafts" && (
        <DraftsDialog drafts={drafts} onOpen={choose} onForget={(draft) => forget(draft.id)} onClose={close} />
      )}
      {opened === "launch" && mask && (
        <LaunchDialog draft={workspace.draft()} program={state.program?.name ?? "mask"} mask={mask} onClose={close} />
      )}
    </>
  );
}
