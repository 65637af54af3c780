/** Paints one whole frame. */

import type { CounterExample } from "../../api/types";
import type { Interval } from "../../domain/intervals";
import type { Outline } from "../../domain/outline";
import type { MaskPalette } from "../../domain/palette";
import { shownRange } from "../../domain/viewport";
import type { Layout } from "./layout";
import type { Cell, KernelBlocks } from "./maskView";
import { type Minimap, paintMinimap } from "./paintMinimap";
import { paintOutline, paintRowTiles } from "./paintOutline";
import { axesOf, paintBorders, paintChosen, paintCursor, paintMark, paintRulers, paintStrip } from "./paintRulers";
import { clipToMask, imageOf, paintTiles } from "./paintTiles";
import { ROWS_AT_ONCE, rowTilesOf } from "./rowTiles";
import { baseSource, type Scene } from "./scene";
import { Stencil } from "./stencil";
import { TileImages } from "./tileImages";
import type { TileSource } from "./tileSource";
import type { AxisRegions } from "./useRegions";

export interface Painted {
  regions: AxisRegions;
  layout: Layout;
  scene: Scene;
  kernel: KernelBlocks;
  cursor: Cell | null;
  chosen: Cell | null;
  mark: CounterExample | null;
  outline: Outline | null;
  /** What the row under the cursor sees. */
  row: readonly Interval[] | null;
  minimap: Minimap | null;
}

export class Painter {
  readonly images: TileImages;
  readonly #context: CanvasRenderingContext2D;
  readonly #stencil = new Stencil();

  constructor(canvas: HTMLCanvasElement, palette: MaskPalette) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("This browser cannot draw on a canvas.");
    this.#context = context;
    this.images = new TileImages(palette);
  }

  clear({ canvas }: Layout, pixelRatio: number): void {
    this.#context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
    this.#context.clearRect(0, 0, canvas.width, canvas.height);
  }

  paint(painted: Painted, tiles: TileSource<Uint8Array>, rowTiles: TileSource<readonly number[]>): void {
    const { regions, layout, scene, cursor, chosen, mark, outline } = painted;
    const context = this.#context;
    const { palette } = this.images;
    const { view, extent, area, pixelRatio } = scene;
    this.clear(layout, pixelRatio);
    const axes = axesOf(view, extent, layout, regions.queries, regions.keys);
    context.save();
    context.translate(layout.left, layout.top);
    context.beginPath();
    context.rect(0, 0, area.width, area.height);
    context.clip();
    paintTiles(context, scene, tiles, this.images, this.#stencil);
    if (scene.layer === "tiles") this.#paintBands(painted, rowTiles, palette);
    paintBorders(context, axes, palette);
    if (outline) {
      context.save();
      clipToMask(context, scene);
      paintOutline(context, scene, outline, palette, this.#stencil);
      context.restore();
    }
    if (chosen) paintChosen(context, axes, chosen, palette);
    if (cursor) paintCursor(context, axes, cursor, palette);
    if (mark) paintMark(context, axes, mark, palette);
    context.restore();
    paintRulers(context, layout, axes, palette);
    paintStrip(context, layout, axes, painted.row, palette);
    if (painted.minimap) this.#paintMinimap(painted, painted.minimap, tiles);
  }

  #paintBands({ scene, kernel }: Painted, rowTiles: TileSource<readonly number[]>, palette: MaskPalette): void {
    this.#context.save();
    clipToMask(this.#context, scene);
    for (const piece of rowTilesOf(scene, kernel)) {
      const tiles = rowTiles.get(piece);
      const step = 2 ** piece.z;
      if (tiles) paintRowTiles(this.#context, scene, piece.y * ROWS_AT_ONCE * step, step, tiles, palette);
    }
    this.#context.restore();
  }

  #paintMinimap({ scene }: Painted, minimap: Minimap, tiles: TileSource<Uint8Array>): void {
    const { view, extent, area, pixelRatio, levels } = scene;
    const root = { source: baseSource(scene), z: levels - 1, y: 0, x: 0 };
    const bytes = tiles.get(root);
    const image = bytes ? imageOf(scene, root, bytes, this.images) : null;
    paintMinimap(minimap, pixelRatio, extent, levels, image, shownRange(view, extent, area), this.images.palette);
  }
}
