/** The picture of a mask on one canvas: what is shown, where it is scrolled to, and when it is painted anew. */

import type { MaskTile } from "../../api/tileBundle";
import type { CounterExample, Mask, TilePlace } from "../../api/types";
import type { Interval } from "../../domain/intervals";
import { kernelGrid } from "../../domain/kernelTiles";
import type { Layer } from "../../domain/maskQuery";
import { type Outline, outlineBounds } from "../../domain/outline";
import type { MaskPalette } from "../../domain/palette";
import {
  cellAt,
  centreOn,
  clamp,
  clampPan,
  type Extent,
  fitView,
  focusOn,
  isFit,
  MAX_SCALE,
  panBy,
  reveal,
  shownRange,
  showRange,
  type Viewport,
  zoomAt,
} from "../../domain/viewport";
import { type Layout, layoutOf } from "./layout";
import { type Painted, Painter } from "./painter";
import { type Minimap, minimapView } from "./paintMinimap";
import { rowTilesOf } from "./rowTiles";
import { baseSource, type Scene, tilesOf } from "./scene";
import { TileSource } from "./tileSource";
import type { AxisRegions } from "./useRegions";
import type { Cell, KernelBlocks, MaskReads, MaskViewEvents } from "./viewTypes";

export type { Cell, KernelBlocks, MaskReads, MaskViewEvents, ShownRange } from "./viewTypes";

const REST_MS = 200;
/** The server packs no more into one answer. */
const MAX_TILES_AT_ONCE = 32;

export class MaskView {
  readonly #canvas: HTMLCanvasElement;
  readonly #events: MaskViewEvents;
  readonly #tiles: TileSource<Uint8Array>;
  readonly #rowTiles: TileSource<readonly number[]>;
  readonly #painter: Painter;
  #layout: Layout = layoutOf({ width: 1, height: 1 }, 1);
  #pixelRatio = 1;
  #shown: Mask | null = null;
  /** The mask to show as soon as its tiles are there; until then the old picture stays. */
  #next: { mask: Mask; rules: string | null } | null = null;
  #view: Viewport = { q0: 0, k0: 0, qScale: 1, kScale: 1 };
  #layer: Layer = "density";
  #rules: string | null = null;
  #lit: string | null = null;
  #patterns = false;
  #kernel: KernelBlocks = { blockM: 128, blockN: 128 };
  #cursor: Cell | null = null;
  /** The cell that was chosen, in the mask that is shown. */
  #chosen: Cell | null = null;
  /** A place that the user was sent to, in the mask that is shown. */
  #mark: CounterExample | null = null;
  #outline: Outline | null = null;
  #row: { q: number; intervals: readonly Interval[] } | null = null;
  #minimap: Minimap | null = null;
  #regions: AxisRegions = { queries: [], keys: [] };
  #told = { scale: 0, whole: false };
  #rest: ReturnType<typeof setTimeout> | undefined;
  #frame = 0;

  constructor(canvas: HTMLCanvasElement, palette: MaskPalette, reads: MaskReads, events: MaskViewEvents) {
    this.#canvas = canvas;
    this.#events = events;
    this.#painter = new Painter(canvas, palette);
    const onArrival = () => this.#invalidate();
    this.#tiles = new TileSource({ read: reads.tile, onArrival, onError: events.tileError, kept: 512 });
    this.#rowTiles = new TileSource({ read: reads.rowTiles, onArrival, onError: events.tileError, kept: 256 });
  }

  get layout(): Layout {
    return this.#layout;
  }

  get cursor(): Cell | null {
    return this.#cursor;
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#rest);
    this.#tiles.dispose();
    this.#rowTiles.dispose();
  }

  resize(width: number, height: number, pixelRatio: number): void {
    const wasWhole = this.#shown === null || isFit(this.#view, extentOf(this.#shown), this.#layout.area);
    this.#layout = layoutOf({ width, height }, this.#shown?.statistics.q_len ?? 1);
    this.#pixelRatio = pixelRatio;
    this.#canvas.width = Math.round(width * pixelRatio);
    this.#canvas.height = Math.round(height * pixelRatio);
    if (this.#shown) this.#setView(wasWhole ? this.#fitted(this.#shown) : this.#clamped(this.#view, this.#shown));
    this.#paint();
  }

  setPalette(palette: MaskPalette): void {
    this.#painter.images.setPalette(palette);
    this.#invalidate();
  }

  setLayer(layer: Layer, kernel: KernelBlocks): void {
    this.#layer = layer;
    this.#kernel = kernel;
    this.#invalidate();
  }

  setPatterns(patterns: boolean): void {
    this.#patterns = patterns;
    this.#invalidate();
  }

  /** rules: the picture of its rules, where that is to be shown. tiles: those that came with the mask. */
  setMask(mask: Mask, rules: string | null, tiles: readonly MaskTile[]): void {
    this.#next = { mask, rules };
    for (const tile of tiles) this.#tiles.put({ ...tile, source: mask.hash }, tile.bytes);
    this.#tiles.retry();
    this.#rowTiles.retry();
    this.#invalidate();
  }

  /** The tiles of a mask that this view of it takes; none where the picture is made of others, or there is none. */
  wantedTiles(): TilePlace[] {
    if (!this.#shown) return [];
    const scene = { ...this.#scene(this.#shown, this.#view, this.#rules), lit: null };
    if (baseSource(scene) !== scene.hash) return [];
    return tilesOf(scene)
      .slice(0, MAX_TILES_AT_ONCE)
      .map(({ z, y, x }) => ({ z, y, x }));
  }

  /** Lights the cells of a mask of the same size, by its hash; null lights all. */
  setLit(hash: string | null): void {
    this.#lit = hash;
    this.#invalidate();
  }

  /** Outlines a part of the mask. `go`: moves the view there when it is not to be seen. */
  setOutline(outline: Outline | null, go: boolean): void {
    this.#outline = outline;
    const bounds = go && outline ? outlineBounds(outline) : null;
    if (bounds && this.#shown)
      this.#setView(showRange(this.#view, bounds.rows, bounds.keys, extentOf(this.#shown), this.#layout.area));
    this.#invalidate();
  }

  setChosen(cell: Cell | null): void {
    this.#chosen = cell;
    this.#invalidate();
  }

  setRow(row: { q: number; intervals: readonly Interval[] } | null): void {
    this.#row = row;
    this.#invalidate();
  }

  /** Regions along both axes, as far as they are known. */
  setRegions(regions: AxisRegions): void {
    this.#regions = regions;
    this.#invalidate();
  }

  setMinimap(minimap: Minimap | null): void {
    this.#minimap = minimap;
    this.#invalidate();
  }

  /** Moves the view so that a point of the small picture is in its middle. */
  goToMinimap(x: number, y: number): void {
    const mask = this.#shown;
    if (!mask || !this.#minimap) return;
    const extent = extentOf(mask);
    const small = minimapView(extent, this.#minimap.size);
    const q = small.q0 + y / small.qScale;
    const k = small.k0 + x / small.kScale;
    this.#setView(centreOn(this.#view, q, k, extent, this.#layout.area));
  }

  retry(): void {
    this.#tiles.retry();
    this.#rowTiles.retry();
    this.#invalidate();
  }

  /** Zoom about a point of the canvas, or about the middle. */
  zoom(factor: number, x?: number, y?: number): void {
    const mask = this.#shown;
    if (!mask) return;
    const { area, left, top } = this.#layout;
    const atX = x === undefined ? area.width / 2 : x - left;
    const atY = y === undefined ? area.height / 2 : y - top;
    this.#setView(zoomAt(this.#view, factor, atX, atY, extentOf(mask), area));
  }

  pan(dx: number, dy: number): void {
    if (this.#shown) this.#setView(panBy(this.#view, dx, dy, extentOf(this.#shown), this.#layout.area));
  }

  fit(): void {
    if (this.#shown) this.#setView(this.#fitted(this.#shown));
  }

  /** The cell under a point of the canvas; null outside the mask. */
  cellAt(x: number, y: number): Cell | null {
    const { left, top, area } = this.#layout;
    const inside = x >= left && y >= top && x < left + area.width && y < top + area.height;
    return inside && this.#shown ? cellAt(this.#view, x - left, y - top, extentOf(this.#shown)) : null;
  }

  /** The cursor follows the pointer; outside the mask there is none. */
  pointAt(x: number, y: number): void {
    this.#setCursor(this.cellAt(x, y));
  }

  clearCursor(): void {
    this.#setCursor(null);
  }

  /** Move the cursor by keyboard; it starts at the first cell in view and the picture follows it. */
  moveCursor(move: (cell: Cell, extent: Extent) => Cell): void {
    const mask = this.#shown;
    if (!mask) return;
    const extent = extentOf(mask);
    const start = { q: Math.max(0, Math.ceil(this.#view.q0)), k: Math.max(0, Math.ceil(this.#view.k0)) };
    const cell = this.#cursor ? move(this.#cursor, extent) : start;
    const q = clamp(cell.q, 0, extent.qLen - 1);
    const k = clamp(cell.k, 0, extent.kvLen - 1);
    this.#setView(reveal(this.#view, q, k, extent, this.#layout.area));
    this.#setCursor({ q, k });
  }

  /** Show a cell, a whole row or a whole column, and mark it until another mask is shown. */
  point(place: CounterExample): void {
    const mask = this.#shown;
    if (!mask) return;
    const extent = extentOf(mask);
    if ((place.q ?? 0) >= extent.qLen || (place.k ?? 0) >= extent.kvLen) return;
    this.#mark = place;
    this.#setView(focusOn(this.#view, place.q, place.k, extent, this.#layout.area));
    this.#setCursor({ q: place.q ?? 0, k: place.k ?? 0 });
  }

  /** Show a cell without marking it. */
  visit({ q, k }: Cell): void {
    if (this.#shown) this.#setView(focusOn(this.#view, q, k, extentOf(this.#shown), this.#layout.area));
    this.#setCursor({ q, k });
  }

  clearMark(): void {
    this.#mark = null;
    this.#invalidate();
  }

  /** Cells that one key press moves the cursor by: about eight pixels. */
  get stride(): { q: number; k: number } {
    return { q: Math.max(1, Math.round(8 / this.#view.qScale)), k: Math.max(1, Math.round(8 / this.#view.kScale)) };
  }

  #setCursor(cell: Cell | null): void {
    if (cell?.q === this.#cursor?.q && cell?.k === this.#cursor?.k) return;
    this.#cursor = cell;
    this.#events.cursor(cell);
    this.#invalidate();
  }

  #setView(view: Viewport): void {
    this.#view = view;
    const mask = this.#shown;
    if (mask) {
      const whole = isFit(view, extentOf(mask), this.#layout.area);
      if (view.kScale !== this.#told.scale || whole !== this.#told.whole) {
        this.#told = { scale: view.kScale, whole };
        this.#events.zoom(view.kScale, whole);
      }
      clearTimeout(this.#rest);
      this.#rest = setTimeout(() => this.#tellRange(), REST_MS);
    }
    this.#invalidate();
  }

  #tellRange(): void {
    if (this.#shown) this.#events.rested(shownRange(this.#view, extentOf(this.#shown), this.#layout.area));
  }

  #fitted(mask: Mask): Viewport {
    return fitView(extentOf(mask), this.#layout.area);
  }

  #clamped(view: Viewport, mask: Mask): Viewport {
    const least = this.#fitted(mask);
    const qScale = clamp(view.qScale, least.qScale, MAX_SCALE);
    const kScale = clamp(view.kScale, least.kScale, MAX_SCALE);
    return clampPan({ ...view, qScale, kScale }, extentOf(mask), this.#layout.area);
  }

  /** The view in which the next mask will appear: the present one, as far as its size allows. */
  #viewFor(mask: Mask): Viewport {
    const old = this.#shown;
    if (!old || isFit(this.#view, extentOf(old), this.#layout.area)) return this.#fitted(mask);
    return this.#clamped(this.#view, mask);
  }

  #scene(mask: Mask, view: Viewport, rules: string | null): Scene {
    return {
      hash: mask.hash,
      extent: extentOf(mask),
      levels: mask.levels,
      view,
      area: this.#layout.area,
      pixelRatio: this.#pixelRatio,
      layer: this.#layer,
      kernel: kernelGrid(this.#kernel.blockM, this.#kernel.blockN, mask.levels),
      rules,
      lit: this.#lit,
      patterns: this.#patterns,
    };
  }

  #invalidate(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#update();
    });
  }

  #update(): void {
    const next = this.#next;
    if (next) {
      const view = this.#viewFor(next.mask);
      const tiles = tilesOf({ ...this.#scene(next.mask, view, next.rules), lit: null });
      if (tiles.every((tile) => this.#tiles.settled(tile))) this.#show(next.mask, next.rules, view);
      else this.#tiles.want(tiles);
    } else if (this.#shown) {
      const scene = this.#scene(this.#shown, this.#view, this.#rules);
      this.#tiles.want(tilesOf(scene));
      this.#rowTiles.want(this.#layer === "tiles" ? rowTilesOf(scene, this.#kernel) : []);
    }
    this.#paint();
  }

  #show(mask: Mask, rules: string | null, view: Viewport): void {
    const { q_len, kv_len } = mask.statistics;
    this.#next = null;
    this.#layout = layoutOf(this.#layout.canvas, q_len);
    if (this.#shown?.hash !== mask.hash) {
      this.#mark = null;
      this.#outline = null;
    }
    this.#shown = mask;
    this.#rules = rules;
    if (this.#cursor && (this.#cursor.q >= q_len || this.#cursor.k >= kv_len)) this.#setCursor(null);
    this.#setView(view);
    this.#events.shown(mask);
  }

  #paint(): void {
    const mask = this.#shown;
    if (!mask) {
      this.#painter.clear(this.#layout, this.#pixelRatio);
      return;
    }
    const painted: Painted = {
      regions: this.#regions,
      layout: this.#layout,
      scene: this.#scene(mask, this.#view, this.#rules),
      kernel: this.#kernel,
      cursor: this.#cursor,
      chosen: this.#chosen,
      mark: this.#mark,
      outline: this.#outline,
      row: this.#row && this.#row.q === this.#cursor?.q ? this.#row.intervals : null,
      minimap: this.#minimap,
    };
    this.#painter.paint(painted, this.#tiles, this.#rowTiles);
  }
}

export function extentOf(mask: Mask): Extent {
  return { qLen: mask.statistics.q_len, kvLen: mask.statistics.kv_len };
}
