import { docBlocks, docPieces } from "../domain/docText";

/** Documentation written in a small part of Markdown, as text nodes. */
export function DocText({ text }: { text: string }) {
  return (
    <>
      {docBlocks(text).map((block) =>
        block.kind === "code" ? (
          <pre key={block.key} className="doc-code">
            {block.text}
          </pre>
        ) : (
          <p key={block.key}>
            {block.pieces.map((piece) => (piece.code ? <code key={piece.key}>{piece.text}</code> : piece.text))}
          </p>
        ),
      )}
    </>
  );
}

/** One line of text in which `code` is set as code. */
export function InlineText({ text }: { text: string }) {
  return <>{docPieces(text).map((piece) => (piece.code ? <code key={piece.key}>{piece.text}</code> : piece.text))}</>;
}
