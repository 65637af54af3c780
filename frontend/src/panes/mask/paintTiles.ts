/** Paints the cells of a mask: density, rules or kernel tiles, patterns, and the lines between them. */

import { DENSITY_CLASSES, KIND_CLASSES, type PatternClass, RULE_CLASSES } from "../../domain/cellPatterns";
import { type KernelGrid, PARTIAL, type Remaining } from "../../domain/kernelTiles";
import { inkOn, type MaskPalette } from "../../domain/palette";
import { type Extent, GRID_SCALE, type Size, TILE_SIDE, type TileId } from "../../domain/viewport";
import {
  baseSource,
  HATCH_FROM,
  plainLevel,
  RULES_PREFIX,
  type Scene,
  showsKernelTiles,
  tileRect,
  tilesOf,
  tilesOfSource,
} from "./scene";
import type { Stencil } from "./stencil";
import type { TileImages } from "./tileImages";
import { type TileSource, tileKey, type WantedTile } from "./tileSource";

type Tiles = TileSource<Uint8Array>;

/** Draws into an area whose origin is (0, 0). */
export function paintTiles(
  context: CanvasRenderingContext2D,
  scene: Scene,
  tiles: Tiles,
  images: TileImages,
  stencil: Stencil,
): void {
  const { kernel, area } = scene;
  context.save();
  clipToMask(context, scene);
  context.fillStyle = images.palette.hidden;
  context.fillRect(0, 0, area.width, area.height);
  context.imageSmoothingEnabled = false;
  const asKernel = showsKernelTiles(scene);
  const base = tilesOf({ ...scene, lit: null });
  for (const tile of base) {
    const bytes = tiles.get(tile);
    if (bytes === undefined) continue;
    const key = tileKey(tile);
    context.drawImage(imageOf(scene, tile, bytes, images), ...tileRect(scene, tile));
    if (asKernel && tile.z === kernel.level && !scene.patterns) {
      const kinds = images.kinds(key, bytes, kernel, remainingFrom(tile, scene.extent));
      hatchPartial(context, scene, tile, kinds, kernel, images.palette);
    }
  }
  if (scene.patterns) paintPatterns(context, scene, base, tiles, images, stencil);
  if (scene.lit !== null) paintVeil(context, scene, scene.lit, tiles, images, stencil);
  if (asKernel) {
    const pixel = 2 ** kernel.level;
    paintLines(context, scene, pixel * kernel.rows, pixel * kernel.columns, images.palette.grid);
  }
  paintLines(context, scene, 1, 1, images.palette.grid);
  context.restore();
}

export function clipToMask(context: CanvasRenderingContext2D, { view, extent }: Scene): void {
  context.beginPath();
  context.rect(-view.k0 * view.kScale, -view.q0 * view.qScale, extent.kvLen * view.kScale, extent.qLen * view.qScale);
  context.clip();
}

/** A tile of the base in the colours of the layer. */
export function imageOf(scene: Scene, tile: WantedTile, bytes: Uint8Array, images: TileImages): HTMLCanvasElement {
  const key = tileKey(tile);
  if (tile.source.startsWith(RULES_PREFIX)) return images.rules(key, bytes);
  if (showsKernelTiles(scene) && tile.z === scene.kernel.level)
    return images.kernel(key, bytes, scene.kernel, remainingFrom(tile, scene.extent));
  return images.density(key, bytes);
}

/** Lines and dots over the cells, one kind for each colour. */
function paintPatterns(
  context: CanvasRenderingContext2D,
  scene: Scene,
  base: readonly WantedTile[],
  tiles: Tiles,
  images: TileImages,
  stencil: Stencil,
): void {
  const { kernel, extent, area, pixelRatio } = scene;
  const [root, ...fine] = base;
  const ready = fine.every((tile) => tiles.get(tile) !== undefined);
  const drawn = ready ? fine : root ? [root] : [];
  const asKernel = showsKernelTiles(scene) && ready;
  for (const one of classesOf(scene, asKernel)) {
    const pattern = stencil.pattern(one.pattern, inkOn(one.ground(images.palette)));
    if (!pattern) continue;
    context.globalAlpha = 0.6;
    stencil.fill(context, area, pixelRatio, pattern, (shape) => {
      for (const tile of drawn) {
        const bytes = tiles.get(tile);
        if (bytes === undefined) continue;
        const key = tileKey(tile);
        const content = asKernel ? images.kinds(key, bytes, kernel, remainingFrom(tile, extent)) : bytes;
        const name = asKernel ? `${one.name}${kernel.rows}.${kernel.columns}` : one.name;
        shape.drawImage(images.shape(name, key, content, one.shape), ...tileRect(scene, tile));
      }
    });
    context.globalAlpha = 1;
  }
}

function classesOf(scene: Scene, asKernel: boolean): readonly PatternClass[] {
  if (asKernel) return KIND_CLASSES;
  return baseSource(scene).startsWith(RULES_PREFIX) ? RULE_CLASSES : DENSITY_CLASSES;
}

/** Everything but the cells of one mask, such as those of a rule, fades. */
function paintVeil(
  context: CanvasRenderingContext2D,
  scene: Scene,
  lit: string,
  tiles: Tiles,
  images: TileImages,
  stencil: Stencil,
): void {
  const [root, ...fine] = tilesOfSource(scene, lit, plainLevel(scene));
  const ready = fine.every((tile) => tiles.get(tile) !== undefined);
  const drawn = ready ? fine : root && tiles.get(root) ? [root] : [];
  if (drawn.length === 0) return;
  stencil.fill(context, scene.area, scene.pixelRatio, images.palette.veil, (shape) => {
    for (const tile of drawn) {
      const bytes = tiles.get(tile);
      if (bytes) shape.drawImage(images.veil(tileKey(tile), bytes), ...tileRect(scene, tile));
    }
  });
}

function remainingFrom(tile: TileId, extent: Extent): Remaining {
  const cells = 2 ** tile.z;
  return {
    rows: Math.ceil(extent.qLen / cells) - tile.y * TILE_SIDE,
    columns: Math.ceil(extent.kvLen / cells) - tile.x * TILE_SIDE,
  };
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

/** Lines between kernel tiles, or between cells, once these are large enough. */
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
