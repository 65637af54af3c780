/** Paints what is chosen in a list over the cells: a run, some rows with some keys, and the bands of q tiles. */

import type { RunFamily, RunRow } from "../../api/types";
import type { Interval } from "../../domain/intervals";
import { membersWithin, type Outline } from "../../domain/outline";
import type { MaskPalette } from "../../domain/palette";
import { clamp, type Size, type Viewport } from "../../domain/viewport";
import type { Stencil } from "./stencil";

/** Up to so many rows in view, the border of a run follows its cells step by step. */
const MAX_STEPS = 500;
/** Repetitions of a run that are outlined in one picture. */
const MAX_OUTLINED = 400;
/** Rectangles closer than this to the border of the area keep their own border in sight. */
const INSET = 1.5;

/** Rows that are lower than this have no border of their own: it would hide them. */
const BORDERED = 8;

interface Place {
  view: Viewport;
  area: Size;
  pixelRatio: number;
}

export function paintOutline(
  context: CanvasRenderingContext2D,
  place: Place,
  outline: Outline,
  palette: MaskPalette,
  stencil: Stencil,
): void {
  if (outline.kind === "run") paintRun(context, place, outline.run, palette);
  else if (outline.kind === "family") paintFamily(context, place, outline.family, palette);
  else paintCells(context, place, outline, palette, stencil);
}

function paintRun(
  context: CanvasRenderingContext2D,
  { view, area }: Place,
  run: RunRow,
  palette: MaskPalette,
  width = 2,
): void {
  const y = (q: number) => (q - view.q0) * view.qScale;
  const x = (k: number) => (k - view.k0) * view.kScale;
  const first = Math.max(run.q_start, Math.floor(view.q0));
  const stop = Math.min(run.q_stop, Math.ceil(view.q0 + area.height / view.qScale));
  if (first >= stop) return;
  const step = Math.max(1, Math.ceil((stop - first) / MAX_STEPS));
  const left: [number, number][] = [];
  const right: [number, number][] = [];
  for (let q = first; q < stop; q += step) {
    const next = Math.min(stop, q + step);
    const lo = run.lo_slope * q + run.lo_offset;
    const hi = run.hi_slope * q + run.hi_offset;
    left.push([x(lo), y(q)], [x(lo), y(next)]);
    right.push([x(hi), y(q)], [x(hi), y(next)]);
  }
  context.beginPath();
  for (const [px, py] of [...left, ...right.reverse()]) {
    context.lineTo(clamp(px, -4, area.width + 4), clamp(py, -4, area.height + 4));
  }
  context.closePath();
  stroke(context, palette, width);
}

/** The first run in full strength, its repetitions in view paler. */
function paintFamily(context: CanvasRenderingContext2D, place: Place, family: RunFamily, palette: MaskPalette): void {
  const { view, area } = place;
  const members = membersWithin(family, view.q0, view.q0 + area.height / view.qScale, MAX_OUTLINED);
  context.globalAlpha = 0.6;
  for (const run of members) paintRun(context, place, run, palette, 1);
  context.globalAlpha = 1;
  paintRun(context, place, family.first, palette);
}

function paintCells(
  context: CanvasRenderingContext2D,
  { view, area, pixelRatio }: Place,
  outline: Extract<Outline, { kind: "cells" }>,
  palette: MaskPalette,
  stencil: Stencil,
): void {
  const rows = outline.rows.map((interval) => onArea(interval, view.q0, view.qScale, area.height)).filter(isShown);
  context.save();
  context.beginPath();
  for (const [from, to] of rows) context.rect(0, from, area.width, to - from);
  context.clip();
  const hatch = stencil.pattern("rising", palette.outline);
  for (const solid of [false, true]) {
    context.beginPath();
    for (const column of outline.columns) {
      if (column.solid !== solid) continue;
      for (const keys of column.keys) {
        const [from, to] = onArea(keys, view.k0, view.kScale, area.width);
        if (isShown([from, to])) context.rect(from, 0, to - from, area.height);
      }
    }
    context.globalAlpha = solid ? 0.32 : 0.75;
    context.fillStyle = solid ? palette.outline : (hatch ?? palette.outline);
    context.fill();
  }
  context.restore();
  context.beginPath();
  const keys = outline.columns.flatMap((column) => column.keys);
  const few = keys.length * rows.length <= 4;
  for (const [from, to] of rows) {
    if (few) {
      for (const interval of keys) {
        const [left, right] = onArea(interval, view.k0, view.kScale, area.width);
        if (isShown([left, right])) context.rect(left, from, right - left, to - from);
      }
    } else if (to - from >= BORDERED) context.rect(INSET, from, area.width - 2 * INSET, to - from);
  }
  stroke(context, palette, few ? 2 : 1 / pixelRatio + 0.5);
}

/** At least two pixels wide, so that it is found. */
function onArea([start, stop]: Interval, origin: number, scale: number, pixels: number): [number, number] {
  const from = (start - origin) * scale;
  const to = (stop - origin) * scale;
  const slack = Math.max(0, 2 - (to - from)) / 2;
  return [clamp(from - slack, -4, pixels + 4), clamp(to + slack, -4, pixels + 4)];
}

function isShown([from, to]: readonly [number, number]): boolean {
  return to > from;
}

/** With a border of its own, so that it stands out from every colour of cells. */
function stroke(context: CanvasRenderingContext2D, palette: MaskPalette, width = 2): void {
  context.lineJoin = "round";
  for (const [colour, lineWidth] of [
    [palette.hidden, width + 2],
    [palette.outline, width],
  ] as const) {
    context.strokeStyle = colour;
    context.lineWidth = lineWidth;
    context.stroke();
  }
}

/** Which q tile each row belongs to: a tint over the row and a bar at the left border. tiles[i]: of row start + i * step. */
export function paintRowTiles(
  context: CanvasRenderingContext2D,
  { view, area }: Place,
  start: number,
  step: number,
  tiles: readonly number[],
  palette: MaskPalette,
): void {
  let from = 0;
  while (from < tiles.length) {
    const tile = tiles[from] ?? -1;
    let to = from + 1;
    while (to < tiles.length && tiles[to] === tile) to++;
    const top = (start + from * step - view.q0) * view.qScale;
    const bottom = (start + to * step - view.q0) * view.qScale;
    if (tile >= 0 && bottom > 0 && top < area.height) {
      context.fillStyle = palette.rules[tile % palette.rules.length] ?? palette.full;
      context.globalAlpha = 0.3;
      context.fillRect(0, top, area.width, bottom - top);
      context.globalAlpha = 1;
      context.fillRect(Math.max(0, -view.k0 * view.kScale), top, 6, bottom - top);
    }
    from = to;
  }
}
