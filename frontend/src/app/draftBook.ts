/**
 * The drafts in tabs and the history of texts, in local storage: every window of the browser shows the same tabs, each has its own active
 * one, and a change is written at once, so that neither a crash nor a second window loses any.
 */

import {
  type Draft,
  draftName,
  isUntouched,
  type OpenDraft,
  parseDraft,
  parseHistory,
  parseOpenDraft,
  parseTabs,
  remember,
  type SavedDraft,
  type SavedRef,
  sameDraft,
} from "../domain/drafts";

export interface Store {
  read: (key: string) => string | null;
  /** False when it could not be kept. */
  write: (key: string, value: string) => boolean;
  remove: (key: string) => void;
}

export interface BookState {
  tabs: readonly OpenDraft[];
  active: string | null;
  /** Earlier texts, the latest first. */
  history: readonly SavedDraft[];
  /** False when the browser refused to keep the latest change. */
  kept: boolean;
}

const TABS = "compilemask.tabs";
const DRAFT = "compilemask.draft.";
const HISTORY = "compilemask.drafts";
const ACTIVE = "compilemask.active";
/** Where a version of this page without tabs kept its one draft. */
const SINGLE = "compilemask.draft";

export const EMPTY: Draft = { source: "", values: {} };

export class DraftBook {
  readonly #shared: Store;
  readonly #own: Store;
  readonly #now: () => number;
  readonly #listeners = new Set<() => void>();
  #state: BookState;
  #born = 0;

  /** shared: what all windows see. own: what this window alone remembers. */
  constructor(shared: Store, own: Store, now: () => number = Date.now) {
    this.#shared = shared;
    this.#own = own;
    this.#now = now;
    const single = parseDraft(shared.read(SINGLE));
    const tabs = this.#readTabs();
    this.#state = { tabs, active: this.#activeOf(tabs), history: parseHistory(shared.read(HISTORY)), kept: true };
    if (single) {
      if (tabs.length === 0) this.open(single);
      shared.remove(SINGLE);
    }
  }

  readonly getState = (): BookState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  get activeDraft(): OpenDraft | null {
    return this.#find(this.#state.active);
  }

  /**
   * Shows a text: in the tab that has it already, in place of an untouched one, else in a new tab. Nothing that was
   * typed is replaced.
   */
  open(draft: Draft, saved: SavedRef | null = null): OpenDraft {
    const there = this.#state.tabs.find(
      (tab) => sameDraft(tab, draft) && (saved === null || sameRef(tab.saved, saved)),
    );
    if (there) {
      this.activate(there.id);
      return there;
    }
    const { activeDraft } = this;
    return this.#add(draft, draft, saved, activeDraft && isUntouched(activeDraft) ? activeDraft.id : null);
  }

  /** A copy in a tab of its own; without a draft, an empty one. */
  begin(draft: Draft | null): OpenDraft {
    return this.#add(draft ?? EMPTY, null, null, null);
  }

  update(id: string, draft: Draft): void {
    const tab = this.#find(id);
    if (tab && !sameDraft(tab, draft)) this.#put({ ...tab, source: draft.source, values: draft.values });
  }

  markSaved(id: string, draft: Draft, saved: SavedRef): void {
    const tab = this.#find(id);
    if (tab) this.#put({ ...tab, base: { source: draft.source, values: draft.values }, saved });
  }

  activate(id: string): void {
    if (!this.#find(id)) return;
    this.#own.write(ACTIVE, id);
    this.#set({ active: id });
  }

  /** Takes a tab away; its text stays in the history. The last one leaves an empty one behind. */
  close(id: string): void {
    const { tabs, active } = this.#state;
    const at = tabs.findIndex((tab) => tab.id === id);
    const tab = tabs[at];
    if (!tab) return;
    this.keepInHistory(tab);
    const left = tabs.filter((other) => other.id !== id);
    this.#writeTabs(left);
    this.#shared.remove(DRAFT + id);
    this.#set({ tabs: left });
    if (active !== id) return;
    const next = left[Math.min(at, left.length - 1)];
    if (next) this.activate(next.id);
    else this.begin(null);
  }

  /** Notes a text, so that it can be taken up again after it was changed or closed. */
  keepInHistory(draft: Draft): void {
    const id = this.#newId();
    const entry = {
      source: draft.source,
      values: draft.values,
      id,
      name: draftName(draft.source),
      savedAt: this.#now(),
    };
    this.#storeHistory((now) => remember(now, entry));
  }

  forget(id: string): void {
    this.#storeHistory((now) => now.filter((entry) => entry.id !== id));
  }

  /** Another window changed something. */
  follow(key: string | null): void {
    if (key !== null && key !== TABS && key !== HISTORY && !key.startsWith(DRAFT)) return;
    const tabs = this.#readTabs();
    const active = tabs.some((tab) => tab.id === this.#state.active) ? this.#state.active : (tabs[0]?.id ?? null);
    this.#set({ tabs, active, history: parseHistory(this.#shared.read(HISTORY)) });
  }

  #add(draft: Draft, base: Draft | null, saved: SavedRef | null, replaced: string | null): OpenDraft {
    const added: OpenDraft = { source: draft.source, values: draft.values, id: this.#newId(), base, saved };
    const { tabs, active } = this.#state;
    const place = tabs.findIndex((tab) => tab.id === (replaced ?? active));
    const next = [...tabs];
    next.splice(place < 0 ? tabs.length : replaced ? place : place + 1, replaced ? 1 : 0, added);
    const kept = this.#shared.write(DRAFT + added.id, JSON.stringify(added)) && this.#writeTabs(next);
    if (replaced) this.#shared.remove(DRAFT + replaced);
    this.#set({ tabs: next, kept });
    this.activate(added.id);
    return added;
  }

  #put(draft: OpenDraft): void {
    const kept = this.#shared.write(DRAFT + draft.id, JSON.stringify(draft));
    this.#set({ tabs: this.#state.tabs.map((tab) => (tab.id === draft.id ? draft : tab)), kept });
  }

  #find(id: string | null): OpenDraft | null {
    return this.#state.tabs.find((tab) => tab.id === id) ?? null;
  }

  #readTabs(): OpenDraft[] {
    const drafts = parseTabs(this.#shared.read(TABS)).map((id) => parseOpenDraft(this.#shared.read(DRAFT + id)));
    return drafts.filter((draft) => draft !== null);
  }

  #activeOf(tabs: readonly OpenDraft[]): string | null {
    const wanted = this.#own.read(ACTIVE);
    return tabs.some((tab) => tab.id === wanted) ? wanted : (tabs[0]?.id ?? null);
  }

  /** Tabs that another window opened a moment ago stay. */
  #writeTabs(tabs: readonly OpenDraft[]): boolean {
    const mine = new Set([...this.#state.tabs, ...tabs].map((tab) => tab.id));
    const others = parseTabs(this.#shared.read(TABS)).filter((id) => !mine.has(id));
    return this.#shared.write(TABS, JSON.stringify([...tabs.map((tab) => tab.id), ...others]));
  }

  #storeHistory(change: (now: SavedDraft[]) => SavedDraft[]): void {
    // Read anew, since another window may have added some.
    const history = change(parseHistory(this.#shared.read(HISTORY)));
    this.#shared.write(HISTORY, JSON.stringify(history));
    this.#set({ history });
  }

  #newId(): string {
    this.#born += 1;
    return `${this.#now().toString(36)}-${this.#born}-${Math.random().toString(36).slice(2, 8)}`;
  }

  #set(change: Partial<BookState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function sameRef(a: SavedRef | null, b: SavedRef): boolean {
  return a?.id === b.id && a.version === b.version;
}
