/** Completion and hover: what the server knows about the place, and without it the table of words. */

import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import type { Extension } from "@codemirror/state";
import { type EditorView, hoverTooltip, type Tooltip } from "@codemirror/view";
import { completeText, hoverText } from "../../api/calls";
import type { Hover, Word } from "../../api/types";
import { docElement, markdownElement } from "./docElements";

const NAME = /[\p{L}_][\p{L}\p{N}_]*/u;

export type WordTable = ReadonlyMap<string, Word>;

export function wording(table: WordTable): Extension {
  return [
    autocompletion({ override: [(context) => complete(context, table)], icons: false }),
    // The pointer is on the character before the place when it is nearer to that one's end.
    hoverTooltip((view, position, side) => hover(view, side < 0 ? position - 1 : position, table)),
  ];
}

async function complete(context: CompletionContext, table: WordTable): Promise<CompletionResult | null> {
  const typed = context.matchBefore(/[\p{L}_][\p{L}\p{N}_]*/u);
  if (!typed && !context.explicit) return null;
  // A comment has no completion.
  if (context.matchBefore(/#.*/)) return null;
  const text = context.state.doc.toString();
  let options: Completion[];
  try {
    const items = await completeText(text, context.pos);
    options = items.map(({ label, kind, detail, insert }, at) => ({
      label,
      apply: insert,
      type: kind,
      detail: detail || kind,
      // The server lists the best first.
      boost: Math.max(-99, 90 - at),
      info: infoOf(table.get(label)),
    }));
  } catch {
    options = localOptions(text, typed?.text ?? "", table);
  }
  return context.aborted ? null : { from: typed?.from ?? context.pos, options, validFor: /^[\p{L}\p{N}_]*$/u };
}

function infoOf(word: Word | undefined): (() => Node) | undefined {
  return word && (() => docElement(word.name, word.doc));
}

/** Words of the language and names of the text, when no server answers. */
function localOptions(text: string, typed: string, table: WordTable): Completion[] {
  const words = [...new Set(table.values())].filter((word) => NAME.test(word.name));
  const options: Completion[] = words.map((word) => ({
    label: word.name,
    type: word.kind,
    detail: word.kind,
    info: infoOf(word),
  }));
  const names = new Set(text.replace(/#.*/g, "").match(new RegExp(NAME, "gu")));
  for (const name of names) if (!table.has(name) && name !== typed) options.push({ label: name, boost: 5 });
  return options;
}

/** The editor asks anew at each of its updates while an answer is awaited; the answer to the same question is the same. */
let asked: { text: string; position: number; answer: Promise<Hover | null> } | null = null;

function askHover(text: string, position: number): Promise<Hover | null> {
  if (asked?.text !== text || asked.position !== position)
    asked = { text, position, answer: hoverText(text, position) };
  return asked.answer;
}

async function hover(view: EditorView, position: number, table: WordTable): Promise<Tooltip | null> {
  try {
    const found = await askHover(view.state.doc.toString(), position);
    if (!found) return null;
    const { span, markdown } = found;
    return { pos: span.start, end: span.stop, create: () => ({ dom: markdownElement(markdown) }) };
  } catch {
    asked = null;
    return localHover(view, position, table);
  }
}

function localHover(view: EditorView, position: number, table: WordTable): Tooltip | null {
  const { text, from } = view.state.doc.lineAt(position);
  for (const found of text.matchAll(new RegExp(NAME, "gu"))) {
    const start = from + found.index;
    const end = start + found[0].length;
    const word = table.get(found[0]);
    if (word && position >= start && position <= end)
      return { pos: start, end, create: () => ({ dom: docElement(word.name, word.doc) }) };
  }
  return null;
}
