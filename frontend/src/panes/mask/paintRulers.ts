/** Paints what surrounds the cells: numbers and regions along both axes, the cursor, the strip of one row. */

import type { RegionSpan } from "../../api/types";
import { formatInt } from "../../domain/format";
import type { Interval } from "../../domain/intervals";
import type { MaskPalette } from "../../domain/palette";
import { bandLabels } from "../../domain/regionLabels";
import { regionsWithin } from "../../domain/regions";
import { ticks } from "../../domain/ticks";
import { clamp, type Extent, type Viewport } from "../../domain/viewport";
import { type Layout, REGION_BAND, STRIP_HEIGHT } from "./layout";

const UI_FONT = '11px system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif';
const MAX_BORDERS = 400;

interface Axis {
  start: number;
  scale: number;
  pixels: number;
  length: number;
  regions: readonly RegionSpan[];
}

export function axesOf(
  view: Viewport,
  extent: Extent,
  layout: Layout,
  queries: readonly RegionSpan[],
  keys: readonly RegionSpan[],
) {
  const q: Axis = {
    start: view.q0,
    scale: view.qScale,
    pixels: layout.area.height,
    length: extent.qLen,
    regions: queries,
  };
  const k: Axis = {
    start: view.k0,
    scale: view.kScale,
    pixels: layout.area.width,
    length: extent.kvLen,
    regions: keys,
  };
  return { q, k };
}

export type Axes = ReturnType<typeof axesOf>;

/** Keys above, queries at the left (the same drawing, turned). */
export function paintRulers(context: CanvasRenderingContext2D, layout: Layout, axes: Axes, palette: MaskPalette): void {
  context.font = UI_FONT;
  context.save();
  context.translate(layout.left, gapBefore(axes.q));
  paintBand(context, axes.k, palette, false);
  context.fillStyle = palette.rulerMuted;
  context.textBaseline = "middle";
  context.textAlign = "center";
  const widest = context.measureText(formatInt(axes.k.length)).width;
  for (const tick of ticks(axes.k.start, axes.k.scale, axes.k.pixels, axes.k.length, Math.max(52, widest + 14))) {
    const at = tick.at + markOffset(axes.k.scale);
    const text = formatInt(tick.index);
    context.fillText(text, clampText(at, context.measureText(text).width, axes.k.pixels), REGION_BAND + 9);
    context.fillRect(Math.round(tick.at), REGION_BAND + 16, 1, 4);
  }
  context.restore();

  context.save();
  context.translate(gapBefore(axes.k), layout.top);
  paintBand(context, axes.q, palette, true);
  context.fillStyle = palette.rulerMuted;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const tick of ticks(axes.q.start, axes.q.scale, axes.q.pixels, axes.q.length, 34)) {
    const at = tick.at + markOffset(axes.q.scale);
    context.fillText(formatInt(tick.index), layout.left - 7, Math.max(6, Math.min(at, axes.q.pixels - 6)));
    context.fillRect(layout.left - 4, Math.round(tick.at), 4, 1);
  }
  context.restore();
}

/** A mask smaller than the area stands in its middle, and the rulers keep close to it. */
function gapBefore(axis: Axis): number {
  return Math.max(0, -axis.start * axis.scale);
}

/** The part of the area that the mask covers along an axis, in pixels. */
function shownPart(axis: Axis): { from: number; to: number } {
  return { from: gapBefore(axis), to: Math.min(axis.pixels, (axis.length - axis.start) * axis.scale) };
}

/** Once a cell is as wide as its number, the number belongs to the cell's middle. */
function markOffset(scale: number): number {
  return scale >= 12 ? scale / 2 : 0;
}

function clampText(at: number, width: number, pixels: number): number {
  return Math.max(width / 2, Math.min(at, pixels - width / 2));
}

function paintBand(context: CanvasRenderingContext2D, axis: Axis, palette: MaskPalette, upright: boolean): void {
  const stop = axis.start + axis.pixels / axis.scale;
  const { shown, first } = regionsWithin(axis.regions, axis.start, stop);
  for (const [order, span] of shown.entries()) {
    const from = Math.max(0, (span.start - axis.start) * axis.scale);
    const to = Math.min(axis.pixels, (span.stop - axis.start) * axis.scale);
    context.fillStyle = (first + order) % 2 === 0 ? palette.rulerBand : palette.rulerBandAlternate;
    const length = Math.max(1, to - from - 1);
    if (upright) context.fillRect(0, from, REGION_BAND - 3, length);
    else context.fillRect(from, 0, length, REGION_BAND - 3);
  }
  context.fillStyle = palette.rulerInk;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const width = (text: string) => context.measureText(text).width;
  for (const label of bandLabels(shown, axis.start, axis.scale, axis.pixels, width)) {
    const middle = (label.from + label.to) / 2;
    const across = (REGION_BAND - 3) / 2 + 0.5;
    context.save();
    if (upright) {
      context.translate(across - 0.5, middle);
      context.rotate(-Math.PI / 2);
      context.fillText(label.text, 0, 0.5);
    } else context.fillText(label.text, middle, across);
    context.restore();
  }
}

/** Thin lines where regions meet, drawn inside the area. */
export function paintBorders(context: CanvasRenderingContext2D, axes: Axes, palette: MaskPalette): void {
  context.strokeStyle = palette.boundary;
  context.lineWidth = 1;
  context.setLineDash([2, 3]);
  context.beginPath();
  const columns = shownPart(axes.k);
  const rows = shownPart(axes.q);
  for (const at of borders(axes.k)) {
    context.moveTo(at, rows.from);
    context.lineTo(at, rows.to);
  }
  for (const at of borders(axes.q)) {
    context.moveTo(columns.from, at);
    context.lineTo(columns.to, at);
  }
  context.stroke();
  context.setLineDash([]);
}

function borders(axis: Axis): number[] {
  const { shown } = regionsWithin(axis.regions, axis.start, axis.start + axis.pixels / axis.scale);
  const crowded = shown.length > MAX_BORDERS || (shown.length > 1 && axis.pixels / shown.length < 10);
  if (crowded) return [];
  return shown
    .filter((span) => span.start > 0)
    .map((span) => Math.round((span.start - axis.start) * axis.scale) + 0.5)
    .filter((at) => at > 0);
}

/** A cross through the cursor's cell and, when it is large enough to see, its outline. */
export function paintCursor(
  context: CanvasRenderingContext2D,
  axes: Axes,
  cell: { q: number; k: number },
  palette: MaskPalette,
): void {
  const x = (cell.k - axes.k.start) * axes.k.scale;
  const y = (cell.q - axes.q.start) * axes.q.scale;
  const columns = shownPart(axes.k);
  const rows = shownPart(axes.q);
  context.fillStyle = palette.cursor;
  context.globalAlpha = 0.35;
  context.fillRect(columns.from, Math.round(y + axes.q.scale / 2), columns.to - columns.from, 1);
  context.fillRect(Math.round(x + axes.k.scale / 2), rows.from, 1, rows.to - rows.from);
  context.globalAlpha = 1;
  const width = Math.max(5, axes.k.scale);
  const height = Math.max(5, axes.q.scale);
  context.strokeStyle = palette.cursor;
  context.lineWidth = 1.5;
  context.strokeRect(x + (axes.k.scale - width) / 2, y + (axes.q.scale - height) / 2, width, height);
}

/** The chosen cell: its ends stand out from the borders of the picture, and its own outline from the cells. */
export function paintChosen(
  context: CanvasRenderingContext2D,
  axes: Axes,
  cell: { q: number; k: number },
  palette: MaskPalette,
): void {
  const x = (cell.k + 0.5 - axes.k.start) * axes.k.scale;
  const y = (cell.q + 0.5 - axes.q.start) * axes.q.scale;
  const columns = shownPart(axes.k);
  const rows = shownPart(axes.q);
  const width = Math.max(9, axes.k.scale + 2);
  const height = Math.max(9, axes.q.scale + 2);
  for (const [colour, more] of [
    [palette.hidden, 2],
    [palette.outline, 0],
  ] as const) {
    context.strokeStyle = colour;
    context.lineWidth = 1 + more / 2;
    context.setLineDash(more ? [] : [6, 3]);
    context.globalAlpha = more ? 0.55 : 1;
    context.beginPath();
    context.moveTo(columns.from, Math.round(y) + 0.5);
    context.lineTo(columns.to, Math.round(y) + 0.5);
    context.moveTo(Math.round(x) + 0.5, rows.from);
    context.lineTo(Math.round(x) + 0.5, rows.to);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
    context.lineWidth = 2 + more;
    context.strokeRect(x - width / 2, y - height / 2, width, height);
  }
}

/** A frame around a cell, a row (k null) or a column (q null), large enough to be found at any zoom. */
export function paintMark(
  context: CanvasRenderingContext2D,
  axes: Axes,
  mark: { q: number | null; k: number | null },
  palette: MaskPalette,
): void {
  const [left, width] = markedPart(axes.k, mark.k);
  const [top, height] = markedPart(axes.q, mark.q);
  for (const [colour, lineWidth] of [
    [palette.hidden, 6],
    [palette.mark, 3],
  ] as const) {
    context.strokeStyle = colour;
    context.lineWidth = lineWidth;
    context.strokeRect(left, top, width, height);
  }
}

function markedPart(axis: Axis, index: number | null): [number, number] {
  if (index === null) {
    const { from, to } = shownPart(axis);
    return [from + 2, to - from - 4];
  }
  const size = Math.round(Math.max(17, axis.scale + 6));
  const middle = (index + 0.5 - axis.start) * axis.scale;
  // Whole at the border of the picture too; far outside of it the frame is outside as well.
  const inside = middle >= 0 && middle <= axis.pixels;
  const at = inside ? clamp(middle - size / 2, 2, axis.pixels - size - 2) : middle - size / 2;
  return [Math.round(at) + 0.5, size];
}

/** The visible intervals of one row, under the same key axis as the cells. */
export function paintStrip(
  context: CanvasRenderingContext2D,
  layout: Layout,
  axes: Axes,
  intervals: readonly Interval[] | null,
  palette: MaskPalette,
): void {
  const { start, scale } = axes.k;
  const { from, to } = shownPart(axes.k);
  const top = layout.stripTop - gapBefore(axes.q);
  context.fillStyle = palette.hidden;
  context.fillRect(layout.left + from, top, to - from, STRIP_HEIGHT);
  if (intervals === null) return;
  context.fillStyle = palette.full;
  for (const [first, stop] of intervals) {
    const left = Math.max(from, (first - start) * scale);
    const right = Math.min(to, (stop - start) * scale);
    if (right > left) context.fillRect(layout.left + left, top, Math.max(1, right - left), STRIP_HEIGHT);
  }
}
