/** The density tile that holds a whole mask: what small pictures are drawn from. */

import type { Draft } from "../domain/drafts";
import { compileMask, readTile } from "./calls";
import { ApiError } from "./client";

/** The tile of one level that has its first pixel at the first cell. The server forgets masks that were not asked for lately; compiling their text brings them back. */
export async function readWholeTile(
  hash: string,
  level: number,
  text: Draft | null,
  signal: AbortSignal,
): Promise<Uint8Array> {
  try {
    return await readTile(hash, level, 0, 0, signal);
  } catch (error) {
    if (!(text && error instanceof ApiError && error.status === 404)) throw error;
    const { source, values } = text;
    await compileMask({ source, values, revision: 0, block_m: 128, block_n: 128, item: 0, head: 0, tiles: [] }, signal);
    return readTile(hash, level, 0, 0, signal);
  }
}
