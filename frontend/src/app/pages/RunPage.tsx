import { useState } from "react";
import { useLocation } from "wouter";
import type { Run } from "../../api/types";
import type { Draft } from "../../domain/drafts";
import { requestOf } from "../../domain/launchText";
import type { ThemeName } from "../../domain/palette";
import { LaunchDialog } from "../../panes/launch/LaunchDialog";
import { RunPane } from "../../panes/run/RunPane";
import { useRunActions } from "../useRunActions";

interface RunPageProps {
  id: number;
  theme: ThemeName;
  open: (draft: Draft) => void;
}

export default function RunPage({ id, theme, open }: RunPageProps) {
  const [, navigate] = useLocation();
  const { change, start } = useRunActions();
  const [editing, setEditing] = useState<Run | null>(null);

  const onDelete = async (run: Run) => {
    await change({ ids: [run.id], action: "delete", undone: () => navigate(`/runs/${run.id}`) });
    navigate("/runs");
  };
  const onOpenInEditor = (draft: Draft, cell?: { q: number; k: number }) => {
    open(draft);
    navigate(cell ? `/?q=${cell.q}&k=${cell.k}` : "/");
  };
  return (
    <>
      <RunPane
        id={id}
        theme={theme}
        onOpenInEditor={onOpenInEditor}
        onRunAgain={(run) => start(requestOf(run))}
        onEditAndRun={setEditing}
        onArchive={(run) => void change({ ids: [run.id], action: run.archived_at === null ? "archive" : "restore" })}
        onDelete={(run) => void onDelete(run)}
      />
      {editing && (
        <LaunchDialog
          draft={{ source: editing.source, values: editing.values }}
          program={editing.mask_name}
          initial={requestOf(editing)}
          onClose={() => setEditing(null)}
        />
      )}
    </>
  );
}
