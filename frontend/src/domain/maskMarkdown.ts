/** A mask as Markdown: its name and numbers, its picture, its text, its link. */

import type { Draft } from "./drafts";
import { summarize } from "./values";

interface MarkdownParts {
  title: string;
  draft: Draft;
  /** A data: address; null leaves the picture out. */
  picture: string | null;
  link: string;
}

export function maskMarkdown({ title, draft, picture, link }: MarkdownParts): string {
  const source = draft.source.trimEnd();
  // A fence must be longer than any run of backquotes in the text.
  const longest = Math.max(2, ...[...source.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const numbers = summarize(draft.values);
  const parts = [
    `**${escapeMarkdown(title)}**`,
    ...(picture ? [`![${escapeMarkdown(title)}](${picture})`] : []),
    `${fence}mask\n${source}\n${fence}`,
    ...(numbers ? [`Numbers: \`${numbers}\``] : []),
    `[Open in CompileMask Studio](${link})`,
  ];
  return `${parts.join("\n\n")}\n`;
}

function escapeMarkdown(text: string): string {
  return text.replace(/([\\`*_[\]<>])/g, "\\$1");
}
