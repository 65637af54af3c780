import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { CopyButton } from "../src/widgets/CopyButton";

const clipboard = Object.getOwnPropertyDescriptor(Navigator.prototype, "clipboard");

function withClipboard(value: { writeText: (text: string) => Promise<void> } | undefined): void {
  Object.defineProperty(navigator, "clipboard", { value, configurable: true });
}

/** A browser that obeys the copy command as browsers do: it asks the page what to copy. */
function obeyCopyCommand(written: string[]): void {
  document.execCommand = (command: string) => {
    expect(command).toBe("copy");
    const data = { setData: (kind: string, text: string) => written.push(`${kind}: ${text}`) };
    const event = new Event("copy", { bubbles: true, cancelable: true });
    Object.defineProperty(event, "clipboardData", { value: data });
    return !document.body.dispatchEvent(event);
  };
}

describe("a copy button", () => {
  afterEach(() => {
    cleanup();
    if (clipboard) Object.defineProperty(navigator, "clipboard", { ...clipboard, configurable: true });
  });

  it("writes into the clipboard", async () => {
    const writeText = vi.fn(() => Promise.resolve());
    withClipboard({ writeText });
    render(<CopyButton label="Copy link" text={async () => "a link"} />);
    fireEvent.click(screen.getByRole("button", { name: "Copy link" }));
    await screen.findByRole("button", { name: "Copied" });
    expect(writeText.mock.calls).toEqual([["a link"]]);
  });

  it("copies by the old command where the page has no clipboard, once for each press", async () => {
    const written: string[] = [];
    withClipboard(undefined);
    obeyCopyCommand(written);
    render(<CopyButton label="Copy link" text={() => "a link"} />);
    fireEvent.click(screen.getByRole("button", { name: "Copy link" }));
    await screen.findByRole("button", { name: "Copied" });
    document.body.dispatchEvent(new Event("copy"));
    expect(written).toEqual(["text/plain: a link"]);
  });

  it("says when the browser refused", async () => {
    withClipboard(undefined);
    document.execCommand = () => false;
    render(<CopyButton label="Copy link" text={() => "a link"} />);
    fireEvent.click(screen.getByRole("button", { name: "Copy link" }));
    await screen.findByRole("button", { name: "Copying was refused" });
  });
});
