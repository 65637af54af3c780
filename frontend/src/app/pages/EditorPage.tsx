import { useQuery } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { exportPython, readLanguage } from "../../api/calls";
import type { CellExplanation, Word } from "../../api/types";
import type { Draft, SavedDraft } from "../../domain/drafts";
import type { ThemeName } from "../../domain/palette";
import { encodeFragment } from "../../domain/shareLink";
import { DraftsDialog } from "../../panes/drafts/DraftsDialog";
import type { CodeEditorHandle } from "../../panes/editor/CodeEditor";
import { EditorPane } from "../../panes/editor/EditorPane";
import { GalleryDialog } from "../../panes/gallery/GalleryDialog";
import { InspectorPane, type InspectorTab } from "../../panes/inspector/InspectorPane";
import { LaunchDialog } from "../../panes/launch/LaunchDialog";
import { MaskPane, type MaskPaneHandle } from "../../panes/mask/MaskPane";
import { ParametersPane } from "../../panes/parameters/ParametersPane";
import { SplitHandle } from "../../widgets/SplitHandle";
import { useToast } from "../../widgets/Toasts";
import { saveFile } from "../saveFile";
import { usePaneWidths } from "../usePaneWidths";
import { useRunKeys } from "../useRunKeys";
import type { Workspace, WorkspaceState } from "../workspace";
import { EditorActions } from "./EditorActions";
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
  const editor = useRef<CodeEditorHandle>(null);
  const picture = useRef<MaskPaneHandle>(null);
  const toast = useToast();
  const { left, right, setLeft, setRight } = usePaneWidths();
  const words = useQuery({
    queryKey: ["language"],
    queryFn: ({ signal }) => readLanguage(signal),
    staleTime: Infinity,
  });
  const { result, mask, fresh } = state;
  const undrawn = result !== null && result.mask === null;
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
  const light = (explanation: CellExplanation | null) => {
    const current = workspace.getState();
    const rules = explanation?.visible && current.source === current.maskOf?.source ? explanation.rules : [];
    editor.current?.light(rules.map((rule) => rule.span));
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
        <MaskPane
          ref={picture}
          mask={mask}
          maskOf={state.maskOf}
          theme={theme}
          blockM={state.blockM}
          blockN={state.blockN}
          onBlocks={(blockM, blockN) => workspace.setBlocks(blockM, blockN)}
          stale={undrawn ? staleText(state) : null}
          onForgotten={() => workspace.compileNow()}
          onExplained={light}
        />
        <SplitHandle label="Width of the numbers" side="after" value={right} min={240} max={640} onChange={setRight} />
        <InspectorPane
          tab={tab}
          onTab={setTab}
          mask={mask}
          stale={undrawn}
          result={result}
          onForgotten={() => workspace.compileNow()}
          onGoTo={(span) => editor.current?.goTo(span.start, span.stop)}
          onPoint={(place) => picture.current?.point(place)}
          onFix={(fix) => editor.current?.applyFix(fix)}
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

function staleText({ result, mask }: WorkspaceState): string {
  const first = result?.diagnostics.find((diagnostic) => diagnostic.severity === "error");
  const why = first ? `Line ${first.line}: ${first.message}` : "This program gives no mask";
  return mask ? `${why}. The picture is the last one that compiled.` : why;
}
