/** What is begun before anything is drawn: the drafts, the one workspace, and the first compilation of what will be shown. */

import type { QueryClient } from "@tanstack/react-query";
import { compilePicture, readMaskVersion, readPreset, readSavedMask } from "../api/calls";
import type { Draft, SavedRef } from "../domain/drafts";
import { parseMaskQuery } from "../domain/maskQuery";
import { decodeFragment } from "../domain/shareLink";
import { DraftBook } from "./draftBook";
import { isEditorPath, type MaskPath, maskPath } from "./places";
import { ownStore, sharedStore } from "./storage";
import { Workspace } from "./workspace";

const FIRST_PRESET = "hstu";
/** A text may go by so much in one step before the text from before is noted. */
const LARGE_LOSS = 40;
const WRITTEN = "compilemask.address";

export interface Begun {
  workspace: Workspace;
  book: DraftBook;
  /** When what this window shows first is known: null, or what to say when it could not be opened. */
  opened: Promise<string | null>;
  /** The address that it was read from. */
  address: string;
}

/** The server compiles while the page is drawn for the first time. */
export function begin(queries: QueryClient): Begun {
  const workspace = new Workspace(compilePicture);
  const book = new DraftBook(sharedStore, ownStore);
  join(workspace, book);
  const { item, head, blockM, blockN } = parseMaskQuery(location.search);
  workspace.setPlace(item, head);
  workspace.setBlocks(blockM, blockN);
  return { workspace, book, opened: openFirst(workspace, book, queries), address: here() };
}

/** What is typed goes into the active tab, and the active tab is what is shown. */
export function join(workspace: Workspace, book: DraftBook): void {
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
    // First the tab: while it has the old text, whatever else the book tells would bring that back.
    book.update(draftId, workspace.draft());
    if (was.source.length - source.length > LARGE_LOSS) book.keepInHistory({ source: was.source, values: was.given });
  });
}

async function openFirst(workspace: Workspace, book: DraftBook, queries: QueryClient): Promise<string | null> {
  const [opened, fault] = await openAddress(workspace, book).then(
    (there) => [there, null] as const,
    (error: unknown) => [false, wordsOf(error)] as const,
  );
  if (opened) return null;
  if (book.activeDraft) {
    book.activate(book.activeDraft.id);
    return fault;
  }
  try {
    const { source, values } = await queries.fetchQuery({
      queryKey: ["preset", FIRST_PRESET],
      queryFn: () => readPreset(FIRST_PRESET),
      retry: 30,
      retryDelay: 2000,
    });
    if (!book.activeDraft) book.open({ source, values });
    return fault;
  } catch {
    return fault ?? "The first program could not be read, so the editor starts empty.";
  }
}

/** Opens what the address names, if it names something that is not in the tabs already; an error in the user's words. */
export async function openAddress(workspace: Workspace, book: DraftBook): Promise<boolean> {
  if (!isEditorPath(location.pathname)) return false;
  const address = here();
  // This window wrote or opened that address itself, and its tabs know more than it does.
  if (address === ownStore.read(WRITTEN) && book.activeDraft) return false;
  const path = maskPath(location.pathname);
  const found = path ? await readSaved(path) : { draft: await decodeFragment(location.hash), saved: null };
  if (found.draft === null) return false;
  book.open(found.draft, found.saved);
  ownStore.write(WRITTEN, address);
  workspace.cameByAddress();
  return true;
}

/** The address that stands there now is this window's own. */
export function rememberAddress(): void {
  ownStore.write(WRITTEN, here());
}

export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : "This link cannot be read.";
}

async function readSaved({ id, version }: MaskPath): Promise<{ draft: Draft; saved: SavedRef }> {
  const number = version ?? (await readSavedMask(id)).versions[0]?.number ?? 1;
  const { name, source, values } = await readMaskVersion(id, number);
  return { draft: { source, values }, saved: { id, version: number, name } };
}

/** The part of the address that names a text. */
export function here(): string {
  return location.pathname + location.hash;
}
