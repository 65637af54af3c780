import { useEffect, useRef } from "react";

/** Ctrl+Enter compiles and Ctrl+Shift+Enter runs wherever the focus is; the editor handles its own key presses. */
export function useRunKeys(onCompile: () => void, onRun: () => void): void {
  const handlers = useRef({ onCompile, onRun });
  handlers.current = { onCompile, onRun };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
      if (document.querySelector("dialog[open]")) return;
      event.preventDefault();
      if (event.shiftKey) handlers.current.onRun();
      else handlers.current.onCompile();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}
