import { type RefObject, useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { formatText } from "../api/calls";
import { ApiError } from "../api/client";
import { diffAddress, type SideRef } from "../domain/diffSides";
import { isUntouched, type OpenDraft } from "../domain/drafts";
import type { CodeEditorHandle } from "../panes/editor/CodeEditor";
import { useToast } from "../widgets/Toasts";
import type { DraftBook } from "./draftBook";
import type { Workspace } from "./workspace";

/** What can be done with the draft that is shown, and cannot be done by the draft itself. */
export function useEditorCommands(workspace: Workspace, book: DraftBook, editor: RefObject<CodeEditorHandle | null>) {
  const toast = useToast();
  const [, navigate] = useLocation();

  const format = async () => {
    const { source, draftId } = workspace.getState();
    try {
      const formatted = await formatText(source);
      const now = workspace.getState();
      // What was typed meanwhile is not overwritten.
      if (now.source === source && now.draftId === draftId) editor.current?.replace(formatted.source);
      if (!formatted.changed) toast({ text: "The text has its canonical layout already." });
    } catch (error) {
      const { message, hint } = error instanceof ApiError ? error : { message: String(error), hint: null };
      toast({ text: hint ? `${message} – ${hint}` : message });
    }
  };

  const diff = async () => {
    const { activeDraft } = book;
    const sides = { left: activeDraft && originOf(activeDraft), right: textSide(workspace) };
    navigate(await diffAddress(sides));
  };

  const close = (id: string) => {
    const tab = book.getState().tabs.find((draft) => draft.id === id);
    if (!tab) return;
    book.close(id);
    if (tab.source.trim() === "") return;
    toast({
      text: "Closed; the text stays in the recent drafts.",
      action: { label: "Undo", run: () => book.open(tab, tab.saved) },
    });
  };

  return { format, diff, close };
}

function textSide(workspace: Workspace): SideRef {
  return { kind: "text", draft: workspace.draft() };
}

/** What a changed draft began as: the version that it was saved as, else the text that was opened. */
function originOf(draft: OpenDraft): SideRef | null {
  if (isUntouched(draft)) return null;
  if (draft.saved) return { kind: "saved", id: draft.saved.id, version: draft.saved.version };
  return draft.base && { kind: "text", draft: draft.base };
}

/** Ctrl+S saves in place of the browser, wherever the focus is. */
export function useSaveKey(onSave: () => void): void {
  const save = useRef(onSave);
  save.current = onSave;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey)
        return;
      event.preventDefault();
      if (!document.querySelector("dialog[open]")) save.current();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}
