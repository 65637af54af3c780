/** Documentation as elements, for the tooltips of the editor. Text becomes text nodes, never markup. */

import { type DocPiece, docBlocks, docPieces } from "../../domain/docText";

function fill(element: HTMLElement, pieces: readonly DocPiece[]): HTMLElement {
  for (const piece of pieces) {
    const child = document.createElement(piece.code ? "code" : "span");
    child.textContent = piece.text;
    element.append(child);
  }
  return element;
}

export function lineElement(text: string, className?: string): HTMLElement {
  const line = document.createElement("div");
  if (className) line.className = className;
  return fill(line, docPieces(text));
}

export function docElement(name: string, doc: string): HTMLElement {
  const box = document.createElement("div");
  box.className = "word-doc";
  const title = document.createElement("strong");
  title.textContent = name;
  box.append(title);
  appendBlocks(box, doc);
  return box;
}

export function markdownElement(markdown: string): HTMLElement {
  const box = document.createElement("div");
  box.className = "word-doc";
  appendBlocks(box, markdown);
  return box;
}

function appendBlocks(box: HTMLElement, markdown: string): void {
  for (const block of docBlocks(markdown)) {
    if (block.kind === "text") {
      box.append(fill(document.createElement("p"), block.pieces));
      continue;
    }
    const code = document.createElement("pre");
    code.textContent = block.text;
    box.append(code);
  }
}
