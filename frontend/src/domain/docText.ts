/** The part of Markdown that the language's documentation uses: paragraphs, `code`, fenced blocks. */

export interface DocPiece {
  key: string;
  text: string;
  code: boolean;
}

export type DocBlock = { kind: "text"; key: string; pieces: DocPiece[] } | { kind: "code"; key: string; text: string };

export function docBlocks(markdown: string): DocBlock[] {
  const blocks: DocBlock[] = [];
  markdown
    .trim()
    .split(/```\w*\n?/)
    .forEach((part, index) => {
      if (index % 2 === 1) {
        blocks.push({ kind: "code", key: `c${index}`, text: part.replace(/\n$/, "") });
        return;
      }
      part
        .split(/\n\s*\n/)
        .filter((paragraph) => paragraph.trim() !== "")
        .forEach((paragraph, order) => {
          blocks.push({
            kind: "text",
            key: `t${index}.${order}`,
            pieces: docPieces(paragraph.replace(/\s*\n\s*/g, " ").trim()),
          });
        });
    });
  return blocks;
}

/** One paragraph, cut where `code` begins and ends. */
export function docPieces(paragraph: string): DocPiece[] {
  return paragraph
    .split("`")
    .map((text, index) => ({
      key: String(index),
      text: index % 2 === 1 ? text : withoutStars(text),
      code: index % 2 === 1,
    }))
    .filter((piece) => piece.text !== "");
}

/** Drops the stars of *emphasis*, but not those of a product. */
function withoutStars(text: string): string {
  return text.replace(/(^|[\s(])\*{1,2}([^*]+)\*{1,2}(?=[\s.,;:)]|$)/g, "$1$2");
}

/** The first sentence, without marks, for one line of text. */
export function firstSentence(markdown: string): string {
  const paragraph = markdown.trim().split(/\n\s*\n/)[0] ?? "";
  const plain = withoutStars(paragraph.replace(/\s+/g, " ")).replaceAll("`", "");
  return (plain.match(/^.*?[.:](?=\s|$)/)?.[0] ?? plain).replace(/:$/, ".");
}
