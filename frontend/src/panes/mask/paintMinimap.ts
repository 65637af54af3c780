/** The whole mask in a small canvas, with a frame around the part that is in view. */

import type { MaskPalette } from "../../domain/palette";
import { clamp, type Extent, fitView, type Size, TILE_SIDE, type Viewport } from "../../domain/viewport";

export interface Minimap {
  canvas: HTMLCanvasElement;
  size: Size;
}

/** The view in which the whole mask is drawn. */
export function minimapView(extent: Extent, size: Size): Viewport {
  return fitView(extent, size);
}

export function paintMinimap(
  { canvas, size }: Minimap,
  pixelRatio: number,
  extent: Extent,
  levels: number,
  image: HTMLCanvasElement | null,
  shown: { rows: readonly [number, number]; keys: readonly [number, number] },
  palette: MaskPalette,
): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const width = Math.round(size.width * pixelRatio);
  const height = Math.round(size.height * pixelRatio);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  const view = minimapView(extent, size);
  const left = -view.k0 * view.kScale;
  const top = -view.q0 * view.qScale;
  const pixel = 2 ** (levels - 1);
  context.fillStyle = palette.hidden;
  context.fillRect(left, top, extent.kvLen * view.kScale, extent.qLen * view.qScale);
  if (image) {
    context.save();
    context.beginPath();
    context.rect(left, top, extent.kvLen * view.kScale, extent.qLen * view.qScale);
    context.clip();
    context.drawImage(image, left, top, TILE_SIDE * pixel * view.kScale, TILE_SIDE * pixel * view.qScale);
    context.restore();
  }
  const frameWidth = Math.max(5, (shown.keys[1] - shown.keys[0]) * view.kScale);
  const frameHeight = Math.max(5, (shown.rows[1] - shown.rows[0]) * view.qScale);
  // Whole at the border too.
  const x = clamp(
    left + ((shown.keys[0] + shown.keys[1]) / 2) * view.kScale - frameWidth / 2,
    2,
    size.width - frameWidth - 2,
  );
  const y = clamp(
    top + ((shown.rows[0] + shown.rows[1]) / 2) * view.qScale - frameHeight / 2,
    2,
    size.height - frameHeight - 2,
  );
  context.strokeStyle = palette.hidden;
  context.lineWidth = 4;
  context.strokeRect(x, y, frameWidth, frameHeight);
  context.strokeStyle = palette.mark;
  context.lineWidth = 2;
  context.strokeRect(x, y, frameWidth, frameHeight);
}
