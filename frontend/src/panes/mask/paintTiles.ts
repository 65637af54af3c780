/** Paints the cells of a mask: density or kernel tiles, grid lines, region borders. */

import { type KernelGrid, PARTIAL, type Remaining } from "../../domain/kernelTiles";
import type { MaskPalette } from "../../domain/palette";
import {
  type Extent,
  GRID_SCALE,
  levelFor,
  type Size,
  TILE_SIDE,
  type TileId,
  type Viewport,
  visibleTiles,
} from "../../domain/viewport";
import type { TileImages } from "./tileImages";
import { type TileSource, tileKey } from "./tileSource";

export interface Scene {
  hash: string;
  extent: Extent;
  levels: number;
  view: Viewport;
  area: Size;
  pixelRatio: number;
  /** The kernel layer's grid, or null for the density layer. */
  kernel: KernelGrid | null;
}

/** Kernel tiles smaller than this many pixels get neither hatch nor lines. */
const HATCH_FROM = 7;

/** The tiles to fetch for a scene; the coarsest one comes first and covers everything else until it is there. */
export function tilesOf(scene: Scene): TileId[] {
  const root: TileId = { z: scene.levels - 1, y: 0, x: 0 };
  return [root, ...visibleTiles(scene.view, scene.area, sceneLevel(scene), scene.extent)];
}

function sceneLevel({ view, pixelRatio, levels, kernel }: Scene): number {
  const level = levelFor(view, pixelRatio, levels);
  return kernel === null ? level : Math.max(level, Math.min(kernel.level, levels - 1));
}

/** True when kernel tiles can be told from the tiles of the scene's level, not only from coarser sums of them. */
function showsKernelTiles(scene: Scene): scene is Scene & { kernel: KernelGrid } {
  return scene.kernel !== null && sceneLevel(scene) === scene.kernel.level;
}

/** Draws into an area whose origin is (0, 0). */
export function paintTiles(
  context: CanvasRenderingContext2D,
  scene: Scene,
  tiles: TileSource,
  images: TileImages,
): void {
  const { view, extent } = scene;
  const left = -view.k0 * view.kScale;
  const top = -view.q0 * view.qScale;
  context.save();
  context.beginPath();
  context.rect(left, top, extent.kvLen * view.kScale, extent.qLen * view.qScale);
  context.clip();
  context.fillStyle = images.palette.hidden;
  context.fillRect(0, 0, scene.area.width, scene.area.height);
  context.imageSmoothingEnabled = false;
  const grid = showsKernelTiles(scene) ? scene.kernel : null;
  for (const tile of tilesOf(scene)) {
    const key = tileKey({ hash: scene.hash, ...tile });
    const bytes = tiles.get({ hash: scene.hash, ...tile });
    if (bytes === undefined) continue;
    const exact = grid !== null && tile.z === grid.level;
    if (exact) {
      const remaining = remainingFrom(tile, extent);
      placeTile(context, scene, tile, images.kernel(key, bytes, grid, remaining));
      hatchPartial(context, scene, tile, images.kinds(key, bytes, grid, remaining), grid, images.palette);
    } else {
      placeTile(context, scene, tile, images.density(key, bytes));
    }
  }
  if (grid)
    paintLines(context, scene, 2 ** grid.level * grid.rows, 2 ** grid.level * grid.columns, images.palette.grid);
  paintLines(context, scene, 1, 1, images.palette.grid);
  context.restore();
}

function remainingFrom(tile: TileId, extent: Extent): Remaining {
  const cells = 2 ** tile.z;
  return {
    rows: Math.ceil(extent.qLen / cells) - tile.y * TILE_SIDE,
    columns: Math.ceil(extent.kvLen / cells) - tile.x * TILE_SIDE,
  };
}

function placeTile(context: CanvasRenderingContext2D, scene: Scene, tile: TileId, image: HTMLCanvasElement): void {
  const side = TILE_SIDE * 2 ** tile.z;
  const snap = (value: number) => Math.round(value * scene.pixelRatio) / scene.pixelRatio;
  // Both ends are snapped to device pixels, so that neighbours meet without a seam.
  const x = snap((tile.x * side - scene.view.k0) * scene.view.kScale);
  const y = snap((tile.y * side - scene.view.q0) * scene.view.qScale);
  const right = snap(((tile.x + 1) * side - scene.view.k0) * scene.view.kScale);
  const bottom = snap(((tile.y + 1) * side - scene.view.q0) * scene.view.qScale);
  context.drawImage(image, x, y, right - x, bottom - y);
}

/** Diagonal lines over the partial kernel tiles, so that colour is not the only sign. */
function hatchPartial(
  context: CanvasRenderingContext2D,
  { view, area }: Scene,
  tile: TileId,
  kinds: Uint8Array,
  grid: KernelGrid,
  palette: MaskPalette,
): void {
  const pixel = 2 ** tile.z;
  const width = pixel * grid.columns * view.kScale;
  const height = pixel * grid.rows * view.qScale;
  if (Math.min(width, height) < HATCH_FROM) return;
  context.beginPath();
  for (let row = 0; row < TILE_SIDE; row += grid.rows) {
    const y = ((tile.y * TILE_SIDE + row) * pixel - view.q0) * view.qScale;
    if (y + height < 0 || y > area.height) continue;
    for (let column = 0; column < TILE_SIDE; column += grid.columns) {
      if (kinds[row * TILE_SIDE + column] !== PARTIAL) continue;
      const x = ((tile.x * TILE_SIDE + column) * pixel - view.k0) * view.kScale;
      if (x + width < 0 || x > area.width) continue;
      hatchRect(context, x, y, width, height, area);
    }
  }
  context.strokeStyle = palette.hatch;
  context.lineWidth = 1;
  context.globalAlpha = 0.55;
  context.stroke();
  context.globalAlpha = 1;
}

/** Lines x + y = c through one rectangle, at the same c everywhere so that neighbours join. */
function hatchRect(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  area: Size,
): void {
  const gap = 8;
  const left = Math.max(x, 0);
  const top = Math.max(y, 0);
  const right = Math.min(x + width, area.width);
  const bottom = Math.min(y + height, area.height);
  for (let c = Math.ceil((left + top) / gap) * gap; c < right + bottom; c += gap) {
    const fromX = Math.min(right, c - top);
    const toX = Math.max(left, c - bottom);
    if (toX >= fromX) continue;
    context.moveTo(fromX, c - fromX);
    context.lineTo(toX, c - toX);
  }
}

function paintLines(
  context: CanvasRenderingContext2D,
  scene: Scene,
  rows: number,
  columns: number,
  colour: string,
): void {
  const { view, area, extent } = scene;
  const least = rows === 1 ? GRID_SCALE : HATCH_FROM;
  if (Math.min(rows * view.qScale, columns * view.kScale) < least) return;
  context.beginPath();
  const lastQ = Math.min(extent.qLen, view.q0 + area.height / view.qScale);
  for (let q = Math.max(0, Math.ceil(view.q0 / rows) * rows); q <= lastQ; q += rows) {
    const y = Math.round((q - view.q0) * view.qScale) + 0.5;
    context.moveTo(0, y);
    context.lineTo(area.width, y);
  }
  const lastK = Math.min(extent.kvLen, view.k0 + area.width / view.kScale);
  for (let k = Math.max(0, Math.ceil(view.k0 / columns) * columns); k <= lastK; k += columns) {
    const x = Math.round((k - view.k0) * view.kScale) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, area.height);
  }
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.stroke();
}
