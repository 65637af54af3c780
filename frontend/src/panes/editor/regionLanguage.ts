/** Colours of the region language, from the server's table of words, and what its words and names mean. */

import {
  HighlightStyle,
  LanguageSupport,
  StreamLanguage,
  type StringStream,
  syntaxHighlighting,
} from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { tags } from "@lezer/highlight";
import type { Word } from "../../api/types";
import { wording } from "./wording";

const IDENTIFIER = /[\p{L}_][\p{L}\p{N}_]*/u;

const STYLE = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--syntax-keyword)", fontWeight: "600" },
  { tag: tags.operatorKeyword, color: "var(--syntax-relation)" },
  { tag: tags.typeName, color: "var(--syntax-type)" },
  { tag: tags.function(tags.variableName), color: "var(--syntax-function)" },
  { tag: tags.number, color: "var(--syntax-number)" },
  { tag: tags.comment, color: "var(--syntax-comment)", fontStyle: "italic" },
]);

/** Everything that the editor knows about the language; with no words yet, only comments and numbers have a colour. */
export function regionLanguage(words: readonly Word[]): Extension {
  const table = new Map(words.flatMap((word) => partsOf(word).map((part) => [part, word] as const)));
  return [new LanguageSupport(streamLanguage(table)), syntaxHighlighting(STYLE), wording(table)];
}

/** A word such as "same position" is met as "same" and "position" in a text. */
function partsOf(word: Word): string[] {
  return word.name.split(/\s+/).filter((part) => IDENTIFIER.test(part));
}

function streamLanguage(table: ReadonlyMap<string, Word>): StreamLanguage<null> {
  const token = (stream: StringStream): string | null => {
    if (stream.eatSpace()) return null;
    if (stream.match(/#.*/)) return "comment";
    if (stream.match(/\d[\d_]*(\.\d+)?/)) return "number";
    const found = stream.match(IDENTIFIER, true) as RegExpMatchArray | null;
    if (found) return tokenName(table.get(found[0]));
    stream.next();
    return null;
  };
  return StreamLanguage.define<null>({
    name: "region",
    startState: () => null,
    token,
    languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{"] } },
  });
}

function tokenName(word: Word | undefined): string | null {
  switch (word?.kind) {
    case "keyword":
      return "keyword";
    case "relation":
    case "symbol":
      return "operatorKeyword";
    case "type":
      return "typeName";
    case "function":
      return "variableName.function";
    case undefined:
      return null;
  }
}
