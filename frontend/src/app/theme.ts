import { useCallback, useEffect, useState } from "react";
import type { ThemeName } from "../domain/palette";
import { readItem, removeItem, writeItem } from "./storage";

const KEY = "compilemask.theme";

function current(): ThemeName {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

/** The theme: the system's until the user chooses, then remembered. `public/theme.js` sets it before the first paint. */
export function useTheme(): { theme: ThemeName; toggle: () => void } {
  const [theme, setTheme] = useState<ThemeName>(current);

  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);

  useEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => {
      if (readItem(KEY) === null) setTheme(system.matches ? "dark" : "light");
    };
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, []);

  const toggle = useCallback(() => {
    setTheme((now) => {
      const next = now === "dark" ? "light" : "dark";
      const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
      if (next === system) removeItem(KEY);
      else writeItem(KEY, next);
      return next;
    });
  }, []);
  return { theme, toggle };
}
