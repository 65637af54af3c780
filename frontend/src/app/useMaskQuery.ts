import { useCallback, useEffect, useRef, useState } from "react";
import { type MaskQuery, parseMaskQuery, writeMaskQuery } from "../domain/maskQuery";

/** How the mask is looked at. A change shows at once; the address follows, without a step in the history. */
export function useMaskQuery(): [MaskQuery, (change: Partial<MaskQuery>) => void] {
  const [query, setQuery] = useState(() => parseMaskQuery(location.search));
  const latest = useRef(query);
  const change = useCallback((part: Partial<MaskQuery>) => {
    latest.current = { ...latest.current, ...part };
    setQuery(latest.current);
    const search = writeMaskQuery(location.search, latest.current);
    if (search !== location.search)
      history.replaceState(history.state, "", `${location.pathname}${search}${location.hash}`);
  }, []);
  // A link opened in this tab brings its own view.
  useEffect(() => {
    const follow = () => {
      latest.current = parseMaskQuery(location.search);
      setQuery(latest.current);
    };
    window.addEventListener("popstate", follow);
    return () => window.removeEventListener("popstate", follow);
  }, []);
  return [query, change];
}
