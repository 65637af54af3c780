/** Tiles that come packed with another answer. */

import type { TileBundle, TilePlace } from "./types";

const TILE_BYTES = 256 * 256;

/** One density tile of a mask. */
export interface MaskTile extends TilePlace {
  bytes: Uint8Array;
}

/** The tiles of a bundle, in its order. */
export async function unpackTiles({ tiles, content }: TileBundle): Promise<MaskTile[]> {
  if (tiles.length === 0) return [];
  const packed = Uint8Array.from(atob(content), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (bytes.length !== tiles.length * TILE_BYTES)
    throw new RangeError(`${tiles.length} tiles need ${tiles.length * TILE_BYTES} bytes, got ${bytes.length}`);
  return tiles.map((tile, index) => ({
    ...tile,
    bytes: bytes.subarray(index * TILE_BYTES, (index + 1) * TILE_BYTES),
  }));
}
