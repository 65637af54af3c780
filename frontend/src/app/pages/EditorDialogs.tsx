import type { Mask } from "../../api/types";
import { isUntouched } from "../../domain/drafts";
import type { ThemeName } from "../../domain/palette";
import { encodeFragment } from "../../domain/shareLink";
import { DraftsDialog } from "../../panes/drafts/DraftsDialog";
import { GalleryDialog } from "../../panes/gallery/GalleryDialog";
import { LaunchDialog } from "../../panes/launch/LaunchDialog";
import { SaveDialog } from "../../panes/saved/SaveDialog";
import { ShareDialog } from "../../panes/share/ShareDialog";
import { useToast } from "../../widgets/Toasts";
import { savedPath } from "../places";
import { saveFile } from "../saveFile";
import type { OpenWorkspace } from "../useWorkspace";

export type OpenedDialog = "gallery" | "history" | "share" | "save" | "launch" | null;

interface EditorDialogsProps {
  opened: OpenedDialog;
  onClose: () => void;
  studio: OpenWorkspace;
  theme: ThemeName;
  failed: boolean;
  mask: Mask | null;
}

/** The windows that the editor's page opens over itself, one at a time. */
export function EditorDialogs({ opened, onClose, studio, theme, failed, mask }: EditorDialogsProps) {
  const toast = useToast();
  const { workspace, state, book, drafts, open } = studio;
  const { activeDraft } = book;
  const name = state.program?.name ?? "mask";
  const saved = activeDraft?.saved ?? null;
  switch (opened) {
    case "gallery":
      return (
        <GalleryDialog
          theme={theme}
          onOpen={(preset) => {
            open({ source: preset.source, values: preset.values });
            onClose();
          }}
          onClose={onClose}
        />
      );
    case "history":
      return (
        <DraftsDialog
          drafts={drafts.history}
          onOpen={(draft) => {
            open({ source: draft.source, values: draft.values });
            onClose();
          }}
          onForget={(draft) => book.forget(draft.id)}
          onClose={onClose}
        />
      );
    case "share":
      return (
        <ShareDialog
          draft={workspace.draft()}
          name={name}
          mask={failed || !state.fresh ? null : mask}
          saved={activeDraft && isUntouched(activeDraft) ? saved : null}
          theme={theme}
          link={async () => `${location.origin}/${location.search}${await encodeFragment(workspace.draft())}`}
          savedLink={saved && location.origin + savedPath(saved) + location.search}
          onSave={saveFile}
          onClose={onClose}
        />
      );
    case "save":
      return (
        <SaveDialog
          draft={workspace.draft()}
          from={saved}
          onSaved={(draft, now) => {
            if (activeDraft) book.markSaved(activeDraft.id, draft, now);
            toast({ text: `Saved “${now.name}” as version ${now.version}.` });
            onClose();
          }}
          onClose={onClose}
        />
      );
    case "launch":
      return mask && <LaunchDialog draft={workspace.draft()} program={name} mask={mask} onClose={onClose} />;
    case null:
      return null;
  }
}
