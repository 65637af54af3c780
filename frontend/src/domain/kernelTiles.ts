/** Kernel tiles (BLOCK_M x BLOCK_N) from density pixels. */

import { TILE_SIDE } from "./viewport";

export const EMPTY = 0;
export const PARTIAL = 1;
export const FULL = 2;

/** How kernel tiles lie on the pixels of one density level: each covers `rows` x `columns` pixels. */
export interface KernelGrid {
  level: number;
  rows: number;
  columns: number;
}

/** The level whose pixels are as large as kernel tiles allow, so that no pixel belongs to two of them. */
export function kernelGrid(blockM: number, blockN: number, levels: number): KernelGrid {
  const level = Math.min(Math.log2(Math.min(blockM, blockN)), levels - 1);
  return { level, rows: blockM >> level, columns: blockN >> level };
}

/** Rows and columns of the mask from a tile's first pixel on, in pixels; a pixel that the border cuts counts. */
export interface Remaining {
  rows: number;
  columns: number;
}

/**
 * Kind of the kernel tile that each pixel belongs to, for one 256 x 256 density tile. Cells outside the mask do not
 * count: a kernel tile that the border cuts is full when all its cells inside are visible.
 */
export function pixelKinds(density: Uint8Array, grid: KernelGrid, remaining: Remaining): Uint8Array {
  const kinds = new Uint8Array(TILE_SIDE * TILE_SIDE);
  for (let y = 0; y < TILE_SIDE; y += grid.rows) {
    for (let x = 0; x < TILE_SIDE; x += grid.columns) {
      const kind = kindOf(density, y, x, grid, remaining);
      for (let row = y; row < y + grid.rows; row++) {
        kinds.fill(kind, row * TILE_SIDE + x, row * TILE_SIDE + x + grid.columns);
      }
    }
  }
  return kinds;
}

function kindOf(density: Uint8Array, top: number, left: number, grid: KernelGrid, remaining: Remaining): number {
  const bottom = Math.min(top + grid.rows, remaining.rows);
  const right = Math.min(left + grid.columns, remaining.columns);
  let some = false;
  let all = true;
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      const value = density[y * TILE_SIDE + x] ?? 0;
      some ||= value > 0;
      all &&= value === 255;
    }
  }
  if (!some) return EMPTY;
  return all ? FULL : PARTIAL;
}
