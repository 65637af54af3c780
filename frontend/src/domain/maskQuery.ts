/** What the address keeps of how a mask is looked at: the part behind "?". */

import type { BlockSize } from "../api/types";

export const LAYERS = ["density", "rules", "kernel", "tiles"] as const;
/** density: cells; rules: which rule shows them; kernel: tiles by kind; tiles: which rows are one q tile. */
export type Layer = (typeof LAYERS)[number];

export const BLOCKS: readonly BlockSize[] = [16, 32, 64, 128, 256];

export interface MaskQuery {
  layer: Layer;
  /** Null: by the size of the mask. */
  blockM: BlockSize | null;
  blockN: BlockSize | null;
  item: number;
  head: number;
  /** The chosen cell. */
  cell: { q: number; k: number } | null;
}

/** Reads "?layer=rules&m=64&n=64&item=1&head=2&q=10&k=3"; what is missing or makes no sense has its default. */
export function parseMaskQuery(search: string): MaskQuery {
  const given = new URLSearchParams(search);
  const layer = LAYERS.find((one) => one === given.get("layer")) ?? "density";
  const q = natural(given.get("q"));
  const k = natural(given.get("k"));
  return {
    layer,
    blockM: block(given.get("m")),
    blockN: block(given.get("n")),
    item: natural(given.get("item")) ?? 0,
    head: natural(given.get("head")) ?? 0,
    cell: q === null || k === null ? null : { q, k },
  };
}

/** The address's search with these in it; others' parameters stay. Empty when everything has its default. */
export function writeMaskQuery(search: string, query: MaskQuery): string {
  const all = new URLSearchParams(search);
  const set = (name: string, value: string | number | null) => {
    if (value === null) all.delete(name);
    else all.set(name, String(value));
  };
  set("layer", query.layer === "density" ? null : query.layer);
  set("m", query.blockM);
  set("n", query.blockN);
  set("item", query.item || null);
  set("head", query.head || null);
  set("q", query.cell?.q ?? null);
  set("k", query.cell?.k ?? null);
  const text = all.toString();
  return text && `?${text}`;
}

function natural(text: string | null): number | null {
  return text !== null && /^\d{1,12}$/.test(text) ? Number(text) : null;
}

function block(text: string | null): BlockSize | null {
  return BLOCKS.find((size) => String(size) === text) ?? null;
}
