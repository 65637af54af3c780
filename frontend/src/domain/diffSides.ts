/** What the two sides of a diff are, as the address names them: `preset:causal`, `saved:12@3`, `run:7`, or `text`. */

import type { Draft } from "./drafts";
import { decodeFragment, encodeFragment } from "./shareLink";

export type SideRef =
  | { kind: "preset"; name: string }
  | { kind: "saved"; id: number; version: number | null }
  | { kind: "run"; id: number }
  /** A text that stands in the link's fragment. */
  | { kind: "text"; draft: Draft };

export type SideName = "left" | "right";
export type Sides = Record<SideName, SideRef | null>;

/** The address of a diff; texts go into the fragment, which no server sees. */
export async function diffAddress(sides: Sides): Promise<string> {
  const search = new URLSearchParams();
  const texts: string[] = [];
  for (const name of ["left", "right"] as const) {
    const side = sides[name];
    if (!side) continue;
    search.set(name, refText(side));
    if (side.kind === "text") texts.push(`${name}=${(await encodeFragment(side.draft)).slice("#p=".length)}`);
  }
  const query = search.toString().replaceAll("%3A", ":").replaceAll("%40", "@");
  return `/diff${query ? `?${query}` : ""}${texts.length > 0 ? `#${texts.join("&")}` : ""}`;
}

/** The sides in an address; an error in words when one cannot be read. */
export async function readSides(search: string, fragment: string): Promise<Sides> {
  const query = new URLSearchParams(search);
  const texts = new URLSearchParams(fragment.replace(/^#/, ""));
  const side = async (name: SideName): Promise<SideRef | null> => {
    const ref = query.get(name);
    if (ref === null) return null;
    if (ref !== "text") return parseRef(ref);
    const draft = await decodeFragment(`#p=${texts.get(name) ?? ""}`);
    return draft && { kind: "text", draft };
  };
  return { left: await side("left"), right: await side("right") };
}

export function refText(side: SideRef): string {
  switch (side.kind) {
    case "preset":
      return `preset:${side.name}`;
    case "saved":
      return side.version === null ? `saved:${side.id}` : `saved:${side.id}@${side.version}`;
    case "run":
      return `run:${side.id}`;
    case "text":
      return "text";
  }
}

export function parseRef(text: string): SideRef {
  const preset = text.match(/^preset:([A-Za-z0-9_]+)$/);
  if (preset?.[1]) return { kind: "preset", name: preset[1] };
  const saved = text.match(/^saved:(\d{1,15})(?:@(\d{1,9}))?$/);
  if (saved?.[1]) return { kind: "saved", id: Number(saved[1]), version: saved[2] ? Number(saved[2]) : null };
  const run = text.match(/^run:(\d{1,15})$/);
  if (run?.[1]) return { kind: "run", id: Number(run[1]) };
  throw new Error(`“${text}” in the address names no mask. It may be preset:NAME, saved:NUMBER@VERSION or run:NUMBER.`);
}
