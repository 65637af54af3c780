import { useEffect, useRef, useSyncExternalStore } from "react";
import { useLocation } from "wouter";
import { type Draft, isUntouched, type SavedRef } from "../domain/drafts";
import { encodeFragment } from "../domain/shareLink";
import { type Begun, here, openAddress, rememberAddress, wordsOf } from "./begin";
import type { BookState, DraftBook } from "./draftBook";
import { isEditorPath, savedPath } from "./places";
import type { Workspace, WorkspaceState } from "./workspace";

const ADDRESS_AFTER_MS = 400;
/** A text that rests this long is noted in the history. */
const HISTORY_AFTER_MS = 15_000;

export interface OpenWorkspace {
  workspace: Workspace;
  state: WorkspaceState;
  book: DraftBook;
  drafts: BookState;
  /** Shows a text in a tab; nothing that was typed is replaced. */
  open: (draft: Draft, saved?: SavedRef) => void;
}

/** The one workspace of this window, kept while other pages are visited; its drafts stand in local storage, its text in the address. */
export function useWorkspace(begun: Begun, say: (text: string) => void): OpenWorkspace {
  const { workspace, book } = begun;
  const state = useSyncExternalStore(workspace.subscribe, workspace.getState);
  const drafts = useSyncExternalStore(book.subscribe, book.getState);
  useOpening(begun, say);
  useAddress(workspace, state, drafts);
  useHistoryKeeping(book, state);
  return { workspace, state, book, drafts, open: (draft, saved) => void book.open(draft, saved ?? null) };
}

/** Opens what the address names when a link is pasted, and when a saved mask's address is visited. */
function useOpening({ workspace, book, opened, address }: Begun, say: (text: string) => void): void {
  const [page] = useLocation();
  const looked = useRef(address);
  useEffect(() => {
    void opened.then((fault) => fault !== null && say(fault));
  }, [opened, say]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page is another address
  useEffect(() => {
    const follow = () => {
      openAddress(workspace, book).catch((error: unknown) => say(wordsOf(error)));
    };
    // The first address was opened before anything was drawn; another one may have come since.
    if (looked.current !== here()) follow();
    looked.current = here();
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, [workspace, book, say, page]);
  useEffect(() => {
    const follow = (event: StorageEvent) => book.follow(event.key);
    window.addEventListener("storage", follow);
    return () => window.removeEventListener("storage", follow);
  }, [book]);
}

/** On the editor's page the address names what is shown: the saved version, or the whole text in the fragment. */
function useAddress(
  workspace: Workspace,
  { ready, source, given, result }: WorkspaceState,
  { tabs, active }: BookState,
): void {
  const [page] = useLocation();
  const shown = tabs.find((tab) => tab.id === active);
  const saved = shown && isUntouched(shown) ? shown.saved : null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the draft is made of stands in the list
  useEffect(() => {
    if (!ready || !isEditorPath(page)) return;
    const write = async () => {
      const draft = workspace.draft();
      const address = saved ? savedPath(saved) : `/${location.search}${await encodeFragment(draft)}`;
      if (!isEditorPath(location.pathname) || workspace.draft().source !== draft.source) return;
      history.replaceState(history.state, "", saved ? address + location.search : address);
      rememberAddress();
    };
    const timer = setTimeout(() => void write(), ADDRESS_AFTER_MS);
    return () => clearTimeout(timer);
  }, [workspace, ready, source, given, result, page, saved]);
}

function useHistoryKeeping(book: DraftBook, { source, given }: WorkspaceState): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of text or values starts the time anew
  useEffect(() => {
    const timer = setTimeout(() => {
      const { activeDraft } = book;
      if (activeDraft && !isUntouched(activeDraft)) book.keepInHistory(activeDraft);
    }, HISTORY_AFTER_MS);
    return () => clearTimeout(timer);
  }, [book, source, given]);
}
