import type { FileAnswer } from "../api/calls";

/** Lets the browser save a file that the server made. */
export function saveFile({ name, blob }: FileAnswer): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
