/** What the picture is given and what it tells. */

import type { Mask } from "../../api/types";
import type { ReadTile } from "./tileSource";

export interface Cell {
  q: number;
  k: number;
}

/** Rows and keys of one kernel tile. */
export interface KernelBlocks {
  blockM: number;
  blockN: number;
}

export interface ShownRange {
  rows: readonly [number, number];
  keys: readonly [number, number];
}

export interface MaskViewEvents {
  cursor: (cell: Cell | null) => void;
  /** Pixels per cell along the keys; `whole` when the whole mask is in view. Called when either changes. */
  zoom: (scale: number, whole: boolean) => void;
  /** Which cells are in view, once the view has come to rest. */
  rested: (range: ShownRange) => void;
  /** The mask that is now really painted. */
  shown: (mask: Mask) => void;
  tileError: (source: string, error: unknown) => void;
}

/** Reads of everything that comes in tiles. */
export interface MaskReads {
  tile: ReadTile<Uint8Array>;
  /** The q tiles of 256 rows. */
  rowTiles: ReadTile<readonly number[]>;
}
