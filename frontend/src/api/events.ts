/** The server's event stream: one a tab, closed while the tab is hidden. */

import type { components } from "./generated/schema";
import type { LaunchSummary, Run } from "./types";

export interface EventHandlers {
  launch: (launch: LaunchSummary) => void;
  run: (run: Run) => void;
  /** Events may have been missed: what is shown must be read again. */
  missed: () => void;
}

/** Opens the stream and keeps it open while the tab is visible; returns how to stop. */
export function followEvents(handlers: EventHandlers): () => void {
  let source: EventSource | null = null;
  let wasOpen = false;

  const open = () => {
    if (source !== null) return;
    source = new EventSource("/api/events");
    source.addEventListener("launch", (event) => {
      handlers.launch((JSON.parse(event.data) as components["schemas"]["LaunchEvent"]).launch);
    });
    source.addEventListener("run", (event) => {
      handlers.run((JSON.parse(event.data) as components["schemas"]["RunEvent"]).run);
    });
    source.addEventListener("reset", handlers.missed);
    source.addEventListener("open", () => {
      // The browser resumes a broken stream by itself; a stream that was closed here cannot say where it stopped.
      if (wasOpen) handlers.missed();
      wasOpen = true;
    });
  };
  const close = () => {
    source?.close();
    source = null;
  };
  const follow = () => (document.visibilityState === "hidden" ? close() : open());

  follow();
  document.addEventListener("visibilitychange", follow);
  return () => {
    document.removeEventListener("visibilitychange", follow);
    close();
  };
}
