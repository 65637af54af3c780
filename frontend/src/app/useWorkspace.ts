import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { useLocation } from "wouter";
import { compileMask, listPresets, readMaskVersion, readSavedMask } from "../api/calls";
import { type Draft, isUntouched, type SavedRef } from "../domain/drafts";
import { decodeFragment, encodeFragment } from "../domain/shareLink";
import { type BookState, DraftBook } from "./draftBook";
import { isEditorPath, type MaskPath, maskPath, savedPath } from "./places";
import { ownStore, sharedStore } from "./storage";
import { Workspace, type WorkspaceState } from "./workspace";

const FIRST_PRESET = "hstu";
const ADDRESS_AFTER_MS = 400;
/** A text that rests this long is noted in the history. */
const HISTORY_AFTER_MS = 15_000;
/** So much of a text may go in one step before the text from before is noted. */
const LARGE_LOSS = 40;
const WRITTEN = "compilemask.address";

export interface OpenWorkspace {
  workspace: Workspace;
  state: WorkspaceState;
  book: DraftBook;
  drafts: BookState;
  /** Shows a text in a tab; nothing that was typed is replaced. */
  open: (draft: Draft, saved?: SavedRef) => void;
}

/** The one workspace of this window, kept while other pages are visited; its drafts stand in local storage, its text in the address. */
export function useWorkspace(say: (text: string) => void): OpenWorkspace {
  const held = useRef<{ workspace: Workspace; book: DraftBook } | null>(null);
  held.current ??= joined(new Workspace(compileMask), new DraftBook(sharedStore, ownStore));
  const { workspace, book } = held.current;
  const state = useSyncExternalStore(workspace.subscribe, workspace.getState);
  const drafts = useSyncExternalStore(book.subscribe, book.getState);
  useOpening(book, say);
  useAddress(workspace, state, drafts);
  useHistoryKeeping(book, state);
  return { workspace, state, book, drafts, open: (draft, saved) => void book.open(draft, saved ?? null) };
}

/** What is typed goes into the active tab, and the active tab is what is shown. */
function joined(workspace: Workspace, book: DraftBook): { workspace: Workspace; book: DraftBook } {
  book.subscribe(() => {
    const { activeDraft } = book;
    const { draftId, source } = workspace.getState();
    // Values of another window are taken when its text is.
    if (activeDraft && (activeDraft.id !== draftId || activeDraft.source !== source))
      workspace.open(activeDraft, activeDraft.id);
  });
  let before = workspace.getState();
  workspace.subscribe(() => {
    const was = before;
    before = workspace.getState();
    const { draftId, source, given } = before;
    if (draftId === null || draftId !== was.draftId || (source === was.source && given === was.given)) return;
    if (was.source.length - source.length > LARGE_LOSS) book.keepInHistory({ source: was.source, values: was.given });
    book.update(draftId, workspace.draft());
  });
  return { workspace, book };
}

/** Opens what the address names: at the start, when a link is pasted, and when a saved mask's address is visited. */
function useOpening(book: DraftBook, say: (text: string) => void): void {
  const queries = useQueryClient();
  const [page] = useLocation();
  const started = useRef(false);
  useEffect(() => {
    const openAddress = async (): Promise<boolean> => {
      // This window wrote that address itself, and its tabs know more than it does.
      if (here() === ownStore.read(WRITTEN) && book.activeDraft) return false;
      const path = maskPath(location.pathname);
      const found = path ? await readSaved(path) : { draft: await decodeFragment(location.hash), saved: null };
      if (found.draft) book.open(found.draft, found.saved);
      return found.draft !== null;
    };
    const start = async () => {
      const first = !started.current;
      started.current = true;
      try {
        if (isEditorPath(location.pathname) && (await openAddress())) return;
      } catch (error) {
        say(error instanceof Error ? error.message : "This link cannot be read.");
      }
      if (!first) return;
      if (book.activeDraft) return book.activate(book.activeDraft.id);
      const presets = await queries.fetchQuery({
        queryKey: ["presets"],
        queryFn: () => listPresets(),
        staleTime: Infinity,
        retry: 30,
        retryDelay: 2000,
      });
      const preset = presets.find(({ name }) => name === FIRST_PRESET) ?? presets[0];
      if (preset && !book.activeDraft) book.open({ source: preset.source, values: preset.values });
    };
    const follow = () => {
      if (page !== null) start().catch(() => say("The gallery could not be read, so the editor starts empty."));
    };
    follow();
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, [book, say, queries, page]);
  useEffect(() => {
    const follow = (event: StorageEvent) => book.follow(event.key);
    window.addEventListener("storage", follow);
    return () => window.removeEventListener("storage", follow);
  }, [book]);
}

async function readSaved({ id, version }: MaskPath): Promise<{ draft: Draft; saved: SavedRef }> {
  const number = version ?? (await readSavedMask(id)).versions[0]?.number ?? 1;
  const { name, source, values } = await readMaskVersion(id, number);
  return { draft: { source, values }, saved: { id, version: number, name } };
}

function here(): string {
  return location.pathname + location.hash;
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
      ownStore.write(WRITTEN, here());
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
