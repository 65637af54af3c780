/** The cells of two masks laid over each other on one canvas; tiles are fetched as the view needs them. */

import { type DiffPalette, diffLut } from "../../domain/diffPixels";
import { LruCache } from "../../domain/lru";
import {
  cellAt,
  type Extent,
  fitView,
  focusOn,
  GRID_SCALE,
  isFit,
  levelFor,
  panBy,
  reveal,
  type Size,
  TILE_SIDE,
  type TileId,
  type Viewport,
  visibleTiles,
  zoomAt,
} from "../../domain/viewport";

export interface Cell {
  q: number;
  k: number;
}

export interface DiffScene {
  /** Names the pair, so that tiles of another one are not taken for its own. */
  key: string;
  extent: Extent;
  levels: number;
  read: (tile: TileId, signal: AbortSignal) => Promise<Uint8Array>;
}

interface DiffEvents {
  cursor: (cell: Cell | null) => void;
  whole: (whole: boolean) => void;
  fault: (error: unknown) => void;
}

const KEPT = 192;
const AT_ONCE = 6;

export class DiffView {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #events: DiffEvents;
  readonly #tiles = new LruCache<string, Uint8Array>(KEPT);
  readonly #images = new LruCache<string, HTMLCanvasElement>(KEPT);
  readonly #running = new Map<string, AbortController>();
  readonly #failed = new Set<string>();
  #palette: DiffPalette;
  #lut: Uint32Array;
  #ink: string;
  #scene: DiffScene | null = null;
  #area: Size = { width: 1, height: 1 };
  #ratio = 1;
  #view: Viewport = { q0: 0, k0: 0, qScale: 1, kScale: 1 };
  #cursor: Cell | null = null;
  #frame = 0;

  constructor(canvas: HTMLCanvasElement, palette: DiffPalette, ink: string, events: DiffEvents) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("This browser cannot draw on a canvas.");
    this.#canvas = canvas;
    this.#context = context;
    this.#palette = palette;
    this.#lut = diffLut(palette);
    this.#ink = ink;
    this.#events = events;
  }

  get cursor(): Cell | null {
    return this.#cursor;
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    for (const controller of this.#running.values()) controller.abort();
  }

  setPalette(palette: DiffPalette, ink: string): void {
    this.#palette = palette;
    this.#lut = diffLut(palette);
    this.#ink = ink;
    this.#images.clear();
    this.#invalidate();
  }

  setScene(scene: DiffScene): void {
    const sameSize = this.#scene?.extent.qLen === scene.extent.qLen && this.#scene.extent.kvLen === scene.extent.kvLen;
    this.#scene = scene;
    this.#failed.clear();
    if (!sameSize) this.fit();
    this.#invalidate();
  }

  resize(width: number, height: number, ratio: number): void {
    const whole = !this.#scene || isFit(this.#view, this.#scene.extent, this.#area);
    this.#area = { width: Math.max(1, width), height: Math.max(1, height) };
    this.#ratio = ratio;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    if (whole) this.fit();
    this.#paint();
  }

  fit(): void {
    if (this.#scene) this.#setView(fitView(this.#scene.extent, this.#area));
  }

  zoom(factor: number, x = this.#area.width / 2, y = this.#area.height / 2): void {
    if (this.#scene) this.#setView(zoomAt(this.#view, factor, x, y, this.#scene.extent, this.#area));
  }

  pan(dx: number, dy: number): void {
    if (this.#scene) this.#setView(panBy(this.#view, dx, dy, this.#scene.extent, this.#area));
  }

  pointAt(x: number, y: number): void {
    if (this.#scene) this.#setCursor(cellAt(this.#view, x, y, this.#scene.extent));
  }

  clearCursor(): void {
    this.#setCursor(null);
  }

  /** Moves the cursor by key; about eight pixels at a time, and never less than a cell. */
  move(dq: number, dk: number): void {
    const scene = this.#scene;
    if (!scene) return;
    const from = this.#cursor ?? { q: Math.max(0, Math.ceil(this.#view.q0)), k: Math.max(0, Math.ceil(this.#view.k0)) };
    const stride = (scale: number) => Math.max(1, Math.round(8 / scale));
    const moved = this.#cursor !== null;
    const q = from.q + (moved ? dq * stride(this.#view.qScale) : 0);
    const k = from.k + (moved ? dk * stride(this.#view.kScale) : 0);
    const cell = {
      q: Math.max(0, Math.min(scene.extent.qLen - 1, q)),
      k: Math.max(0, Math.min(scene.extent.kvLen - 1, k)),
    };
    this.#setView(reveal(this.#view, cell.q, cell.k, scene.extent, this.#area));
    this.#setCursor(cell);
  }

  /** Shows a cell large enough to be seen. */
  show(cell: Cell): void {
    if (!this.#scene) return;
    this.#setView(focusOn(this.#view, cell.q, cell.k, this.#scene.extent, this.#area));
    this.#setCursor(cell);
  }

  #setCursor(cell: Cell | null): void {
    if (cell?.q === this.#cursor?.q && cell?.k === this.#cursor?.k) return;
    this.#cursor = cell;
    this.#events.cursor(cell);
    this.#invalidate();
  }

  #setView(view: Viewport): void {
    this.#view = view;
    if (this.#scene) this.#events.whole(isFit(view, this.#scene.extent, this.#area));
    this.#invalidate();
  }

  #invalidate(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#paint();
    });
  }

  #name(tile: TileId): string {
    return `${this.#scene?.key}/${tile.z}/${tile.y}/${tile.x}`;
  }

  #paint(): void {
    const context = this.#context;
    const scene = this.#scene;
    context.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    context.clearRect(0, 0, this.#area.width, this.#area.height);
    if (!scene) return;
    const level = levelFor(this.#view, this.#ratio, scene.levels);
    const wanted = visibleTiles(this.#view, this.#area, level, scene.extent);
    // A coarser picture stands in for tiles that are on their way.
    const coarse = visibleTiles(this.#view, this.#area, scene.levels - 1, scene.extent);
    context.save();
    this.#clipToMask(context, scene.extent);
    context.imageSmoothingEnabled = false;
    for (const tile of [...coarse, ...wanted]) this.#paintTile(context, tile);
    context.restore();
    this.#paintCursor(context, scene.extent);
    this.#fetch([...coarse, ...wanted]);
    const drawn = wanted.every((tile) => this.#tiles.has(this.#name(tile)));
    this.#canvas.dataset.drawn = drawn ? scene.key : "";
  }

  #clipToMask(context: CanvasRenderingContext2D, { qLen, kvLen }: Extent): void {
    const { q0, k0, qScale, kScale } = this.#view;
    context.beginPath();
    context.rect(-k0 * kScale, -q0 * qScale, kvLen * kScale, qLen * qScale);
    context.clip();
    context.fillStyle = this.#palette.hidden;
    context.fill();
  }

  #paintTile(context: CanvasRenderingContext2D, tile: TileId): void {
    const name = this.#name(tile);
    const bytes = this.#tiles.get(name);
    if (!bytes) return;
    const side = TILE_SIDE * 2 ** tile.z;
    const { q0, k0, qScale, kScale } = this.#view;
    const snap = (value: number) => Math.round(value * this.#ratio) / this.#ratio;
    const x = snap((tile.x * side - k0) * kScale);
    const y = snap((tile.y * side - q0) * qScale);
    const width = snap(((tile.x + 1) * side - k0) * kScale) - x;
    const height = snap(((tile.y + 1) * side - q0) * qScale) - y;
    context.drawImage(this.#image(name, bytes), x, y, width, height);
  }

  #image(name: string, bytes: Uint8Array): HTMLCanvasElement {
    const known = this.#images.get(name);
    if (known) return known;
    const canvas = document.createElement("canvas");
    canvas.width = TILE_SIDE;
    canvas.height = TILE_SIDE;
    const context = canvas.getContext("2d");
    const image = context?.createImageData(TILE_SIDE, TILE_SIDE);
    if (context && image) {
      const pixels = new Uint32Array(image.data.buffer);
      for (let at = 0; at < pixels.length; at++) pixels[at] = this.#lut[bytes[at] ?? 0] ?? 0;
      context.putImageData(image, 0, 0);
    }
    this.#images.set(name, canvas);
    return canvas;
  }

  #paintCursor(context: CanvasRenderingContext2D, { qLen, kvLen }: Extent): void {
    if (!this.#cursor) return;
    const { q0, k0, qScale, kScale } = this.#view;
    const x = (this.#cursor.k - k0) * kScale;
    const y = (this.#cursor.q - q0) * qScale;
    context.strokeStyle = this.#ink;
    context.globalAlpha = 0.55;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(Math.max(0, -k0 * kScale), y + qScale / 2);
    context.lineTo(Math.min(this.#area.width, (kvLen - k0) * kScale), y + qScale / 2);
    context.moveTo(x + kScale / 2, Math.max(0, -q0 * qScale));
    context.lineTo(x + kScale / 2, Math.min(this.#area.height, (qLen - q0) * qScale));
    context.stroke();
    context.globalAlpha = 1;
    if (Math.min(qScale, kScale) >= GRID_SCALE / 2) context.strokeRect(x, y, kScale, qScale);
  }

  #fetch(tiles: readonly TileId[]): void {
    const scene = this.#scene;
    if (!scene) return;
    const names = new Set(tiles.map((tile) => this.#name(tile)));
    for (const [name, controller] of this.#running) if (!names.has(name)) controller.abort();
    for (const tile of tiles) {
      const name = this.#name(tile);
      if (this.#running.size >= AT_ONCE) return;
      if (this.#tiles.has(name) || this.#failed.has(name) || this.#running.has(name)) continue;
      const controller = new AbortController();
      this.#running.set(name, controller);
      scene
        .read(tile, controller.signal)
        .then(
          (bytes) => void this.#tiles.set(name, bytes),
          (error: unknown) => {
            if (controller.signal.aborted) return;
            this.#failed.add(name);
            this.#events.fault(error);
          },
        )
        .finally(() => {
          this.#running.delete(name);
          this.#invalidate();
        });
    }
  }
}
