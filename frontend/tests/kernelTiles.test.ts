import { describe, expect, it } from "vitest";
import { EMPTY, FULL, kernelGrid, PARTIAL, pixelKinds } from "../src/domain/kernelTiles";
import { TILE_SIDE } from "../src/domain/viewport";

type Visible = (q: number, k: number) => boolean;

/** The density tile (level, 0, 0) of a mask given as a predicate, counted cell by cell. */
function densityTile(visible: Visible, qLen: number, kvLen: number, level: number): Uint8Array {
  const tile = new Uint8Array(TILE_SIDE * TILE_SIDE);
  const side = 2 ** level;
  for (let y = 0; y < Math.ceil(qLen / side); y++) {
    for (let x = 0; x < Math.ceil(kvLen / side); x++) {
      let count = 0;
      let exist = 0;
      for (let q = y * side; q < Math.min((y + 1) * side, qLen); q++) {
        for (let k = x * side; k < Math.min((x + 1) * side, kvLen); k++) {
          exist += 1;
          if (visible(q, k)) count += 1;
        }
      }
      const shade = Math.max(1, Math.min(254, Math.round((255 * count) / side ** 2)));
      tile[y * TILE_SIDE + x] = count === 0 ? 0 : count === exist ? 255 : shade;
    }
  }
  return tile;
}

function kindByCells(visible: Visible, qLen: number, kvLen: number, row: number, column: number, m: number, n: number) {
  let some = false;
  let all = true;
  for (let q = row * m; q < Math.min((row + 1) * m, qLen); q++) {
    for (let k = column * n; k < Math.min((column + 1) * n, kvLen); k++) {
      some ||= visible(q, k);
      all &&= visible(q, k);
    }
  }
  return some ? (all ? FULL : PARTIAL) : EMPTY;
}

const masks: Record<string, Visible> = {
  causal: (q, k) => k <= q,
  window: (q, k) => k <= q && q - k < 70,
  documents: (q, k) => Math.floor(q / 48) === Math.floor(k / 48),
  everything: () => true,
  nothing: () => false,
};

describe("kernel tiles from density pixels", () => {
  const sizes = [
    [200, 200],
    [130, 250],
    [96, 33],
  ] as const;
  const blocks = [
    [16, 16],
    [32, 64],
    [128, 16],
    [128, 128],
  ] as const;
  for (const [name, visible] of Object.entries(masks)) {
    it.each(sizes)(`agree with the cells of ${name} at %i x %i`, (qLen, kvLen) => {
      for (const [m, n] of blocks) {
        for (const levels of [1, 3]) {
          const grid = kernelGrid(m, n, levels);
          const side = 2 ** grid.level;
          const remaining = { rows: Math.ceil(qLen / side), columns: Math.ceil(kvLen / side) };
          const kinds = pixelKinds(densityTile(visible, qLen, kvLen, grid.level), grid, remaining);
          for (let row = 0; row * m < qLen; row++) {
            for (let column = 0; column * n < kvLen; column++) {
              const pixel = row * grid.rows * TILE_SIDE + column * grid.columns;
              expect(kinds[pixel]).toBe(kindByCells(visible, qLen, kvLen, row, column, m, n));
            }
          }
        }
      }
    });
  }
});
