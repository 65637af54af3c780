/** Puts a text into the clipboard; rejects where the browser refuses. */
export async function copyText(text: string): Promise<void> {
  // A page of another machine without https has no navigator.clipboard; the old command still copies there.
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else if (!copyByCommand(text)) throw new Error("the browser refused to copy");
}

/** Answers the copy command with the text itself, so that nothing on the page needs to be selected. */
function copyByCommand(text: string): boolean {
  let copied = false;
  const answer = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
    copied = event.clipboardData !== null;
  };
  document.addEventListener("copy", answer, { capture: true, once: true });
  try {
    return document.execCommand("copy") && copied;
  } finally {
    document.removeEventListener("copy", answer, { capture: true });
  }
}
