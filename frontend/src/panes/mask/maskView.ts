/** The picture of a mask on one canvas: what is shown, where it is scrolled to, and when it is painted anew. */

import type { CounterExample, Mask } from "../../api/types";
import type { Interval } from "../../domain/intervals";
import { kernelGrid } from "../../domain/kernelTiles";
import type { MaskPalette } from "../../domain/palette";
import {
  cellAt,
  clampPan,
  type Extent,
  fitView,
  focusOn,
  isFit,
  MAX_SCALE,
  panBy,
  reveal,
  type Viewport,
  zoomAt,
} from "../../domain/viewport";
import { type Layout, layoutOf } from "./layout";
import { axesOf, paintBorders, paintCursor, paintMark, paintRulers, paintStrip } from "./paintRulers";
import { paintTiles, type Scene, tilesOf } from "./paintTiles";
import { TileImages } from "./tileImages";
import { type ReadTile, TileSource } from "./tileSource";

export interface Cell {
  q: number;
  k: number;
}

/** Rows and keys of one kernel tile. */
export interface KernelBlocks {
  blockM: number;
  blockN: number;
}

export interface MaskViewEvents {
  cursor: (cell: Cell | null) => void;
  /** Pixels per cell along the keys; `whole` when the whole mask is in view. */
  zoom: (scale: number, whole: boolean) => void;
  /** The mask that is now really painted. */
  shown: (mask: Mask) => void;
  tileError: (hash: string, error: unknown) => void;
}

export class MaskView {
  readonly #context: CanvasRenderingContext2D;
  readonly #canvas: HTMLCanvasElement;
  readonly #events: MaskViewEvents;
  readonly #tiles: TileSource;
  readonly #images: TileImages;
  #layout: Layout = layoutOf({ width: 1, height: 1 });
  #pixelRatio = 1;
  #shown: Mask | null = null;
  /** The mask to show as soon as its tiles are there; until then the old picture stays. */
  #next: Mask | null = null;
  #view: Viewport = { q0: 0, k0: 0, qScale: 1, kScale: 1 };
  #kernel: KernelBlocks | null = null;
  #cursor: Cell | null = null;
  /** A place that the user was sent to, in the mask that is shown. */
  #mark: CounterExample | null = null;
  #row: { q: number; intervals: readonly Interval[] } | null = null;
  #frame = 0;

  constructor(canvas: HTMLCanvasElement, palette: MaskPalette, read: ReadTile, events: MaskViewEvents) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("This browser cannot draw on a canvas.");
    this.#canvas = canvas;
    this.#context = context;
    this.#events = events;
    this.#images = new TileImages(palette);
    this.#tiles = new TileSource({ read, onArrival: () => this.#invalidate(), onError: events.tileError });
  }

  get layout(): Layout {
    return this.#layout;
  }

  get cursor(): Cell | null {
    return this.#cursor;
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    this.#tiles.dispose();
  }

  resize(width: number, height: number, pixelRatio: number): void {
    const wasWhole = this.#shown === null || isFit(this.#view, extentOf(this.#shown), this.#layout.area);
    this.#layout = layoutOf({ width, height });
    this.#pixelRatio = pixelRatio;
    this.#canvas.width = Math.round(width * pixelRatio);
    this.#canvas.height = Math.round(height * pixelRatio);
    if (this.#shown) this.#setView(wasWhole ? this.#fitted(this.#shown) : this.#clamped(this.#view, this.#shown));
    this.#paint();
  }

  setPalette(palette: MaskPalette): void {
    this.#images.setPalette(palette);
    this.#invalidate();
  }

  setKernel(kernel: KernelBlocks | null): void {
    this.#kernel = kernel;
    this.#invalidate();
  }

  setMask(mask: Mask): void {
    this.#next = mask;
    this.#tiles.retry();
    this.#invalidate();
  }

  setRow(row: { q: number; intervals: readonly Interval[] } | null): void {
    this.#row = row;
    this.#invalidate();
  }

  retry(): void {
    this.#tiles.retry();
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

  /** The cursor follows the pointer; outside the mask there is none. */
  pointAt(x: number, y: number): void {
    const { left, top, area } = this.#layout;
    const inside = x >= left && y >= top && x < left + area.width && y < top + area.height;
    const cell = inside && this.#shown ? cellAt(this.#view, x - left, y - top, extentOf(this.#shown)) : null;
    this.#setCursor(cell);
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
    const q = Math.max(0, Math.min(extent.qLen - 1, cell.q));
    const k = Math.max(0, Math.min(extent.kvLen - 1, cell.k));
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
    if (this.#shown) {
      this.#events.zoom(view.kScale, isFit(view, extentOf(this.#shown), this.#layout.area));
    }
    this.#invalidate();
  }

  #fitted(mask: Mask): Viewport {
    return fitView(extentOf(mask), this.#layout.area);
  }

  #clamped(view: Viewport, mask: Mask): Viewport {
    const least = this.#fitted(mask);
    const qScale = Math.min(MAX_SCALE, Math.max(view.qScale, least.qScale));
    const kScale = Math.min(MAX_SCALE, Math.max(view.kScale, least.kScale));
    return clampPan({ ...view, qScale, kScale }, extentOf(mask), this.#layout.area);
  }

  /** The view in which the next mask will appear: the present one, as far as its size allows. */
  #viewFor(mask: Mask): Viewport {
    const old = this.#shown;
    if (!old || isFit(this.#view, extentOf(old), this.#layout.area)) return this.#fitted(mask);
    return this.#clamped(this.#view, mask);
  }

  #scene(mask: Mask, view: Viewport): Scene {
    const { area } = this.#layout;
    const kernel = this.#kernel && kernelGrid(this.#kernel.blockM, this.#kernel.blockN, mask.levels);
    return {
      hash: mask.hash,
      extent: extentOf(mask),
      levels: mask.levels,
      view,
      area,
      pixelRatio: this.#pixelRatio,
      kernel,
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
      const view = this.#viewFor(next);
      const tiles = tilesOf(this.#scene(next, view)).map((tile) => ({ hash: next.hash, ...tile }));
      if (tiles.every((tile) => this.#tiles.settled(tile))) {
        this.#next = null;
        if (this.#shown?.hash !== next.hash) this.#mark = null;
        this.#shown = next;
        if (this.#cursor && (this.#cursor.q >= next.statistics.q_len || this.#cursor.k >= next.statistics.kv_len))
          this.#setCursor(null);
        this.#setView(view);
        this.#events.shown(next);
      } else {
        this.#tiles.want(tiles);
      }
    } else if (this.#shown) {
      const hash = this.#shown.hash;
      this.#tiles.want(tilesOf(this.#scene(this.#shown, this.#view)).map((tile) => ({ hash, ...tile })));
    }
    this.#paint();
  }

  #paint(): void {
    const context = this.#context;
    const { canvas, left, top, area } = this.#layout;
    context.setTransform(this.#pixelRatio, 0, 0, this.#pixelRatio, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    const mask = this.#shown;
    if (!mask) return;
    const palette = this.#images.palette;
    const axes = axesOf(this.#view, extentOf(mask), this.#layout, mask.query_regions, mask.key_regions);
    context.save();
    context.translate(left, top);
    context.beginPath();
    context.rect(0, 0, area.width, area.height);
    context.clip();
    paintTiles(context, this.#scene(mask, this.#view), this.#tiles, this.#images);
    paintBorders(context, axes, palette);
    if (this.#cursor) paintCursor(context, axes, this.#cursor, palette);
    if (this.#mark) paintMark(context, axes, this.#mark, palette);
    context.restore();
    paintRulers(context, this.#layout, axes, palette);
    const row = this.#row && this.#row.q === this.#cursor?.q ? this.#row.intervals : null;
    paintStrip(context, this.#layout, axes, row, palette);
  }
}

function extentOf(mask: Mask): Extent {
  return { qLen: mask.statistics.q_len, kvLen: mask.statistics.kv_len };
}
