import { useEffect, useRef } from "react";
import { useLocation } from "wouter";

const PLACES: Record<string, string> = { e: "/", m: "/masks", r: "/runs", c: "/compare", v: "/environment" };
const SEQUENCE_MS = 1200;

/** "?" and "g" sequences; never while something is being typed or a dialog is open. */
export function useShortcuts(onHelp: () => void): void {
  const [, navigate] = useLocation();
  const help = useRef(onHelp);
  help.current = onHelp;
  useEffect(() => {
    let goAt = 0;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as HTMLElement | null;
      if (target?.closest("input, textarea, select, [contenteditable=true], dialog")) return;
      if (event.key === "?") {
        event.preventDefault();
        help.current();
      } else if (event.key === "g") {
        goAt = Date.now();
      } else if (Date.now() - goAt < SEQUENCE_MS && PLACES[event.key]) {
        goAt = 0;
        navigate(PLACES[event.key] ?? "/");
      }
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [navigate]);
}
