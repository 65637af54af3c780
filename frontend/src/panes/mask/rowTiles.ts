/** Which q tile each row belongs to, in pieces of 256 rows. */

import { clamp } from "../../domain/viewport";
import type { KernelBlocks } from "./maskView";
import type { Scene } from "./scene";
import type { WantedTile } from "./tileSource";

export const ROWS_AT_ONCE = 256;
const NAME = /^(.*)\/(\d+)x(\d+)$/;

/** The pieces that a scene shows. `z`: rows are 2 ** z apart, so that one is a device pixel or more. */
export function rowTilesOf({ hash, view, area, extent, pixelRatio }: Scene, kernel: KernelBlocks): WantedTile[] {
  const z = Math.max(0, Math.ceil(-Math.log2(view.qScale * pixelRatio) - 1e-6));
  const side = ROWS_AT_ONCE * 2 ** z;
  const last = Math.max(0, Math.ceil(extent.qLen / side) - 1);
  const from = clamp(Math.floor(view.q0 / side), 0, last);
  const to = clamp(Math.floor((view.q0 + area.height / view.qScale) / side), 0, last);
  const source = `${hash}/${kernel.blockM}x${kernel.blockN}`;
  return Array.from({ length: to - from + 1 }, (_, at) => ({ source, z, y: from + at, x: 0 }));
}

/** The mask and the blocks that a name of `rowTilesOf` stands for. */
export function readRowTilesName(source: string): { hash: string; blockM: number; blockN: number } {
  const found = source.match(NAME);
  if (!found) throw new Error(`${source} names no q tiles`);
  return { hash: found[1] as string, blockM: Number(found[2]), blockN: Number(found[3]) };
}
