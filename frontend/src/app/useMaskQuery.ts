import { useCallback, useEffect, useRef, useState } from "react";
import { type MaskQuery, parseMaskQuery, writeMaskQuery } from "../domain/maskQuery";

/** As it was when the page was left, for when it is come back to. */
let left: MaskQuery | null = null;
/** The text whose cells are meant. */
let meant: string | null = null;

/**
 * How the mask of a text is looked at. A change shows at once; the address follows, without a step in the history.
 * byAddress: an address brought the text, and with it the cell that is chosen. Of any other text none is, at first.
 */
export function useMaskQuery(
  draftId: string | null,
  byAddress: boolean,
): [MaskQuery, (change: Partial<MaskQuery>) => void] {
  const [query, setQuery] = useState(() => (left && location.search === "" ? left : parseMaskQuery(location.search)));
  const latest = useRef(query);
  const change = useCallback((part: Partial<MaskQuery>) => {
    latest.current = { ...latest.current, ...part };
    left = latest.current;
    setQuery(latest.current);
    writeAddress(latest.current);
  }, []);
  useEffect(() => {
    writeAddress(latest.current);
    // A link opened in this tab brings its own view.
    const follow = () => {
      latest.current = parseMaskQuery(location.search);
      left = latest.current;
      setQuery(latest.current);
    };
    window.addEventListener("popstate", follow);
    return () => window.removeEventListener("popstate", follow);
  }, []);
  useEffect(() => {
    if (draftId === null || draftId === meant) return;
    if (meant !== null && !byAddress) change({ cell: null });
    meant = draftId;
  }, [draftId, byAddress, change]);
  return [query, change];
}

function writeAddress(query: MaskQuery): void {
  const search = writeMaskQuery(location.search, query);
  if (search !== location.search)
    history.replaceState(history.state, "", `${location.pathname}${search}${location.hash}`);
}
