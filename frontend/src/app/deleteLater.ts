import { deleteRun } from "../api/calls";

const GRACE_MS = 6000;

interface Outcome {
  deleted: () => void;
  failed: (message: string) => void;
}

/** Deletes a run after a few seconds in which that can be undone, or when the page is closed. */
export function deleteLater(id: number, { deleted, failed }: Outcome): { undo: () => void; graceMs: number } {
  const finish = (closing: boolean) => {
    stop();
    deleteRun(id, closing).then(deleted, (error: Error) => failed(error.message));
  };
  const timer = setTimeout(() => finish(false), GRACE_MS);
  const onHide = () => finish(true);
  const stop = () => {
    clearTimeout(timer);
    window.removeEventListener("pagehide", onHide);
  };
  window.addEventListener("pagehide", onHide);
  return { undo: stop, graceMs: GRACE_MS };
}
