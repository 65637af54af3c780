import { useCallback, useState } from "react";
import { type Draft, draftName, parseDraft, parseHistory, remember, type SavedDraft } from "../domain/drafts";
import { readItem, writeItem } from "./storage";

const CURRENT = "compilemask.draft";
const HISTORY = "compilemask.drafts";

export function readCurrentDraft(): Draft | null {
  return parseDraft(readItem(CURRENT));
}

export function writeCurrentDraft(draft: Draft): void {
  writeItem(CURRENT, JSON.stringify(draft));
}

/** The drafts put aside. They are read anew before each change, since another tab may have added some. */
export function useDrafts() {
  const [drafts, setDrafts] = useState<SavedDraft[]>(() => parseHistory(readItem(HISTORY)));

  const store = useCallback((change: (now: SavedDraft[]) => SavedDraft[]) => {
    const next = change(parseHistory(readItem(HISTORY)));
    writeItem(HISTORY, JSON.stringify(next));
    setDrafts(next);
  }, []);

  const putAside = useCallback(
    (draft: Draft) => {
      const saved = {
        ...draft,
        id: `${Date.now()}-${Math.random().toString(36).slice(2)}`,
        name: draftName(draft.source),
        savedAt: Date.now(),
      };
      store((now) => remember(now, saved));
    },
    [store],
  );

  const forget = useCallback((id: string) => store((now) => now.filter((entry) => entry.id !== id)), [store]);

  return { drafts, putAside, forget };
}
