import { describe, expect, it } from "vitest";
import {
  cellAt,
  fitView,
  focusOn,
  isFit,
  levelFor,
  MAX_SCALE,
  panBy,
  reveal,
  type Viewport,
  visibleTiles,
  wholeLevel,
  zoomAt,
} from "../src/domain/viewport";

const size = { width: 700, height: 600 };
const shapes = [
  { qLen: 96, kvLen: 96 },
  { qLen: 32768, kvLen: 32768 },
  { qLen: 1, kvLen: 65536 },
  { qLen: 1_000_000, kvLen: 7 },
];

describe("a fitted view", () => {
  it.each(shapes)("holds the whole of %o and no more zoom out is possible", (extent) => {
    const view = fitView(extent, size);
    expect(extent.kvLen * view.kScale).toBeLessThanOrEqual(size.width + 1e-6);
    expect(extent.qLen * view.qScale).toBeLessThanOrEqual(size.height + 1e-6);
    expect(isFit(view, extent, size)).toBe(true);
    expect(zoomAt(view, 0.1, 10, 10, extent, size)).toEqual(view);
  });

  it("draws square cells unless the sides are very unlike", () => {
    const square = fitView({ qLen: 400, kvLen: 500 }, size);
    expect(square.qScale).toBeCloseTo(square.kScale);
    const wide = fitView({ qLen: 100, kvLen: 10_000 }, size);
    expect(wide.qScale * 100).toBeGreaterThan(0.3 * size.height);
  });
});

describe("zooming", () => {
  it.each(shapes)("keeps the cell under the pointer, for %o", (extent) => {
    let view: Viewport = fitView(extent, size);
    const x = size.width / 2 + 3;
    const y = size.height / 2 + 3;
    const before = cellAt(view, x, y, extent);
    for (let step = 0; step < 60; step++) view = zoomAt(view, 1.4, x, y, extent, size);
    expect(view.kScale).toBe(MAX_SCALE);
    expect(view.qScale).toBe(MAX_SCALE);
    const after = cellAt(view, x, y, extent);
    if (before && after && extent.kvLen > 1000) {
      // At the start one pixel holds many cells; the cell found at the end is one of them.
      const perPixel = extent.kvLen / size.width;
      expect(Math.abs(after.k - before.k)).toBeLessThanOrEqual(perPixel + 1);
    }
    for (let step = 0; step < 80; step++) view = zoomAt(view, 1 / 1.4, 5, 5, extent, size);
    expect(isFit(view, extent, size)).toBe(true);
  });
});

describe("going to a place", () => {
  it.each(shapes)("shows the cell, row or column large enough to be seen, for %o", (extent) => {
    for (const q of [0, Math.floor(extent.qLen / 3), extent.qLen - 1]) {
      const k = extent.kvLen - 1 - Math.floor((q * (extent.kvLen - 1)) / Math.max(1, extent.qLen - 1));
      for (const place of [
        { q, k },
        { q, k: null },
        { q: null, k },
      ]) {
        const view = focusOn(fitView(extent, size), place.q, place.k, extent, size);
        expect(Math.min(view.qScale, view.kScale)).toBeGreaterThanOrEqual(6 - 1e-9);
        if (place.q !== null) expect((place.q - view.q0) * view.qScale).toBeGreaterThan(-1e-6);
        if (place.q !== null) expect((place.q + 1 - view.q0) * view.qScale).toBeLessThan(size.height + 1e-6);
        if (place.k !== null) expect((place.k - view.k0) * view.kScale).toBeGreaterThan(-1e-6);
        if (place.k !== null) expect((place.k + 1 - view.k0) * view.kScale).toBeLessThan(size.width + 1e-6);
        expect(focusOn(view, place.q, place.k, extent, size)).toEqual(view);
      }
    }
  });
});

describe("panning", () => {
  it("never leaves a gap at a border", () => {
    const extent = { qLen: 4096, kvLen: 4096 };
    const near = zoomAt(fitView(extent, size), 8, 300, 300, extent, size);
    const corner = panBy(near, 1e9, 1e9, extent, size);
    expect([corner.q0, corner.k0]).toEqual([0, 0]);
    const far = panBy(near, -1e9, -1e9, extent, size);
    expect(far.k0 + size.width / far.kScale).toBeCloseTo(4096);
  });

  it("reveals a cell with the least movement", () => {
    const extent = { qLen: 4096, kvLen: 4096 };
    const near = zoomAt(fitView(extent, size), 100, 0, 0, extent, size);
    const moved = reveal(near, 4000, 4000, extent, size);
    const x = (4000 - moved.k0) * moved.kScale;
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x + moved.kScale).toBeLessThanOrEqual(size.width + 1e-6);
    expect(reveal(moved, 4000, 4000, extent, size)).toEqual(moved);
  });
});

describe("levels and tiles", () => {
  it("never shrinks a density pixel, and stays below two device pixels while levels last", () => {
    const extent = { qLen: 32768, kvLen: 32768 };
    let view = fitView(extent, size);
    for (let step = 0; step < 40; step++) {
      for (const ratio of [1, 1.5, 2]) {
        const shown = 2 ** levelFor(view, ratio, 8) * view.kScale * ratio;
        expect(shown).toBeGreaterThanOrEqual(1 - 1e-6);
        if (view.kScale * ratio < 1) expect(shown).toBeLessThan(2 + 1e-6);
      }
      view = zoomAt(view, 1.3, 100, 100, extent, size);
    }
  });

  it("holds a whole mask in one tile, on no finer level", () => {
    for (const longest of [0, 1, 255, 256, 257, 512, 513, 1_000_000]) {
      for (const [qLen, kvLen] of [
        [longest, 1],
        [1, longest],
      ] as const) {
        const level = wholeLevel({ qLen, kvLen });
        expect(256 * 2 ** level).toBeGreaterThanOrEqual(longest);
        if (level > 0) expect(128 * 2 ** level).toBeLessThan(longest);
      }
    }
  });

  it("covers the view with tiles of the mask, each once", () => {
    const extent = { qLen: 5000, kvLen: 3000 };
    const view = zoomAt(fitView(extent, size), 3, 600, 500, extent, size);
    const z = levelFor(view, 1, 5);
    const tiles = visibleTiles(view, size, z, extent);
    const names = new Set(tiles.map((tile) => `${tile.y}/${tile.x}`));
    expect(names.size).toBe(tiles.length);
    for (let y = 1; y < size.height; y += 50) {
      for (let x = 1; x < size.width; x += 50) {
        const cell = cellAt(view, x, y, extent);
        const side = 256 * 2 ** z;
        if (cell) expect(names).toContain(`${Math.floor(cell.q / side)}/${Math.floor(cell.k / side)}`);
      }
    }
    for (const tile of tiles) {
      expect(tile.y * 256 * 2 ** z).toBeLessThan(extent.qLen);
      expect(tile.x * 256 * 2 ** z).toBeLessThan(extent.kvLen);
    }
  });
});
