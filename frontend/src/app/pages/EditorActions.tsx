import { Button } from "../../widgets/Button";
import { CopyButton } from "../../widgets/CopyButton";

interface EditorActionsProps {
  name: string | null;
  ready: boolean;
  failed: boolean;
  onGallery: () => void;
  onDrafts: () => void;
  link: () => Promise<string>;
  onExport: () => void;
  onRun: () => void;
}

/** The line above the editor: which mask this is, and what can be done with it. */
export function EditorActions({ name, ready, failed, onGallery, onDrafts, link, onExport, onRun }: EditorActionsProps) {
  return (
    <div className="editor-actions">
      <Button icon="grid" onClick={onGallery}>
        Gallery
      </Button>
      <Button icon="history" onClick={onDrafts} look="quiet">
        Recent drafts
      </Button>
      <span className="program-name truncate" title={name ?? undefined}>
        {name}
      </span>
      <span className="grow" />
      <CopyButton label="Copy link" icon="link" look="quiet" done="Link copied" text={link} />
      <Button icon="download" look="quiet" onClick={onExport} disabled={!ready || failed}>
        Export to Python
      </Button>
      <Button icon="play" look="primary" onClick={onRun} disabled={!ready || failed} title="Ctrl+Shift+Enter">
        Run
      </Button>
    </div>
  );
}
