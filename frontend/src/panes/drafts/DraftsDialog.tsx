import type { SavedDraft } from "../../domain/drafts";
import { formatAge } from "../../domain/format";
import { summarize } from "../../domain/values";
import { Button } from "../../widgets/Button";
import { Dialog } from "../../widgets/Dialog";
import { EmptyState } from "../../widgets/Feedback";

interface DraftsDialogProps {
  drafts: readonly SavedDraft[];
  onOpen: (draft: SavedDraft) => void;
  onForget: (draft: SavedDraft) => void;
  onClose: () => void;
}

/** Texts that were put aside when another was opened. */
export function DraftsDialog({ drafts, onOpen, onForget, onClose }: DraftsDialogProps) {
  const now = Date.now();
  return (
    <Dialog title="Recent drafts" onClose={onClose}>
      {drafts.length === 0 ? (
        <EmptyState title="No drafts yet">
          When you open a preset or a link, the text that you had is kept here.
        </EmptyState>
      ) : (
        <ul className="draft-list">
          {drafts.map((draft) => (
            <li key={draft.id}>
              <button type="button" className="draft" onClick={() => onOpen(draft)}>
                <span className="draft-head">
                  <b className="truncate">{draft.name}</b>
                  <span className="muted">{formatAge(new Date(draft.savedAt).toISOString(), now)}</span>
                </span>
                <span className="muted truncate">{summarize(draft.values) || "no values given"}</span>
                <code className="truncate">{draft.source.trim().split("\n").slice(0, 3).join("  ")}</code>
              </button>
              <Button
                look="quiet"
                icon="trash"
                aria-label={`Forget draft ${draft.name}`}
                onClick={() => onForget(draft)}
              />
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}
