/** A program and its values in the fragment of a link, which no server sees: deflated JSON in base64url. */

import { type Draft, isDraft } from "./drafts";

const PREFIX = "#p=";
const MAX_TEXT = 200_000;

export async function encodeFragment(draft: Draft): Promise<string> {
  const json = JSON.stringify({ source: draft.source, values: draft.values });
  const packed = await pipe(new TextEncoder().encode(json), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return PREFIX + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The draft in a fragment; null when there is none, an error when it is damaged. */
export async function decodeFragment(fragment: string): Promise<Draft | null> {
  if (!fragment.startsWith(PREFIX)) return null;
  try {
    const binary = atob(fragment.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
    const packed = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    const data: unknown = JSON.parse(
      new TextDecoder().decode(await pipe(packed, new DecompressionStream("deflate-raw"))),
    );
    if (isDraft(data)) return { source: data.source, values: data.values };
  } catch {
    // Told below in the user's words.
  }
  throw new Error("This link is damaged: the program in it cannot be read. Ask for it again.");
}

async function pipe(bytes: Uint8Array<ArrayBuffer>, transform: GenericTransform): Promise<Uint8Array> {
  const reader = new Blob([bytes]).stream().pipeThrough(transform).getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    length += value.length;
    // A few bytes can unpack to gigabytes.
    if (length > MAX_TEXT) throw new RangeError("too long");
  }
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

type GenericTransform = ReadableWritablePair<Uint8Array<ArrayBuffer>, BufferSource>;
