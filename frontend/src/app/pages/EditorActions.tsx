import type { ReactNode } from "react";
import { Button } from "../../widgets/Button";

interface EditorActionsProps {
  /** The drafts in tabs. */
  tabs: ReactNode;
  ready: boolean;
  failed: boolean;
  onGallery: () => void;
  onHistory: () => void;
  onDiff: () => void;
  onShare: () => void;
  onSave: () => void;
  onRun: () => void;
}

/** The line above the editor: which drafts there are, and what can be done with the one shown. */
export function EditorActions(props: EditorActionsProps) {
  const { tabs, ready, failed, onGallery, onHistory, onDiff, onShare, onSave, onRun } = props;
  return (
    <div className="editor-actions">
      {tabs}
      <div className="actions">
        <Button icon="grid" onClick={onGallery}>
          Gallery
        </Button>
        <Button icon="history" look="quiet" aria-label="Recent drafts" onClick={onHistory} />
        <Button icon="diff" look="quiet" onClick={onDiff} disabled={!ready} title="Compare with another mask">
          Diff
        </Button>
        <Button icon="link" look="quiet" onClick={onShare} disabled={!ready}>
          Share
        </Button>
        <Button icon="save" look="quiet" onClick={onSave} disabled={!ready} title="Ctrl+S">
          Save
        </Button>
        <Button icon="play" look="primary" onClick={onRun} disabled={!ready || failed} title="Ctrl+Shift+Enter">
          Run
        </Button>
      </div>
    </div>
  );
}
