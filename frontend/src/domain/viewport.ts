/** Where a mask lies on the screen: pan, zoom, and which density level and tiles a view needs. */

export interface Extent {
  qLen: number;
  kvLen: number;
}

/** Drawing area in CSS pixels. */
export interface Size {
  width: number;
  height: number;
}

/** Cell (q, k) covers x in [(k - k0) * kScale, (k + 1 - k0) * kScale), and y likewise. Scales are CSS pixels per cell. */
export interface Viewport {
  q0: number;
  k0: number;
  qScale: number;
  kScale: number;
}

export interface TileId {
  z: number;
  y: number;
  x: number;
}

export const TILE_SIDE = 256;
/** One cell is never drawn larger than this. */
export const MAX_SCALE = 48;
/** From this size on, cells are drawn with grid lines. */
export const GRID_SCALE = 9;
/** Pixels per cell at which a single cell is easily seen. */
const FOCUS_SCALE = 6;
/** Pixels from which on a shape is found without zooming in. */
const MIN_SHOWN = 24;
/** A very long or very wide mask is stretched until its short side fills this share of the area. */
const MIN_SHARE = 0.34;

function fitScales(extent: Extent, size: Size): { q: number; k: number } {
  const k = size.width / extent.kvLen;
  const q = size.height / extent.qLen;
  const square = Math.min(k, q, MAX_SCALE);
  return {
    q: Math.max(square, Math.min(q, (MIN_SHARE * size.height) / extent.qLen, MAX_SCALE)),
    k: Math.max(square, Math.min(k, (MIN_SHARE * size.width) / extent.kvLen, MAX_SCALE)),
  };
}

/** The whole mask, centred, with square cells unless its sides are very unlike. */
export function fitView(extent: Extent, size: Size): Viewport {
  const { q, k } = fitScales(extent, size);
  return clampPan({ q0: 0, k0: 0, qScale: q, kScale: k }, extent, size);
}

export function isFit(view: Viewport, extent: Extent, size: Size): boolean {
  const { q, k } = fitScales(extent, size);
  return view.qScale <= q * 1.0001 && view.kScale <= k * 1.0001;
}

/** Zoom by a factor; the cell under (x, y) stays there unless the border of the mask forbids it. */
export function zoomAt(view: Viewport, factor: number, x: number, y: number, extent: Extent, size: Size): Viewport {
  const least = fitScales(extent, size);
  const kScale = clamp(view.kScale * factor, least.k, MAX_SCALE);
  const qScale = clamp(view.qScale * factor, least.q, MAX_SCALE);
  const k0 = view.k0 + x / view.kScale - x / kScale;
  const q0 = view.q0 + y / view.qScale - y / qScale;
  return clampPan({ q0, k0, qScale, kScale }, extent, size);
}

export function panBy(view: Viewport, dx: number, dy: number, extent: Extent, size: Size): Viewport {
  return clampPan({ ...view, k0: view.k0 - dx / view.kScale, q0: view.q0 - dy / view.qScale }, extent, size);
}

/** Pan by the least amount that shows cell (q, k) whole. */
export function reveal(view: Viewport, q: number, k: number, extent: Extent, size: Size): Viewport {
  const rows = size.height / view.qScale;
  const columns = size.width / view.kScale;
  const q0 = clamp(view.q0, q + 1 - rows, q);
  const k0 = clamp(view.k0, k + 1 - columns, k);
  return clampPan({ ...view, q0, k0 }, extent, size);
}

/** Zoom until cells can be told apart, and show the place: a cell, or with a null a whole row or column. */
export function focusOn(view: Viewport, q: number | null, k: number | null, extent: Extent, size: Size): Viewport {
  const factor = FOCUS_SCALE / Math.min(view.qScale, view.kScale);
  if (factor < 1.0001) return reveal(view, q ?? Math.max(0, view.q0), k ?? Math.max(0, view.k0), extent, size);
  const near = zoomAt(view, factor, size.width / 2, size.height / 2, extent, size);
  const q0 = q === null ? near.q0 : q + 0.5 - size.height / near.qScale / 2;
  const k0 = k === null ? near.k0 : k + 0.5 - size.width / near.kScale / 2;
  return clampPan({ ...near, q0, k0 }, extent, size);
}

/** The same zoom, with cell (q, k) in the middle as far as the borders of the mask allow. */
export function centreOn(view: Viewport, q: number, k: number, extent: Extent, size: Size): Viewport {
  const q0 = q - size.height / view.qScale / 2;
  const k0 = k - size.width / view.kScale / 2;
  return clampPan({ ...view, q0, k0 }, extent, size);
}

/** Shows all of the cells [q0, q1) x [k0, k1), as large as they fit, but no larger than the present view when it shows them. */
export function showRange(
  view: Viewport,
  rows: readonly [number, number],
  keys: readonly [number, number],
  extent: Extent,
  size: Size,
): Viewport {
  const shown = shownRange(view, extent, size);
  const inside = (part: readonly [number, number], whole: readonly [number, number]) =>
    part[0] >= whole[0] && part[1] <= whole[1];
  const tall = (rows[1] - rows[0]) * view.qScale;
  const wide = (keys[1] - keys[0]) * view.kScale;
  if (inside(rows, shown.rows) && inside(keys, shown.keys) && Math.max(tall, wide) >= MIN_SHOWN) return view;
  const fitted =
    0.8 * Math.min(size.height / ((rows[1] - rows[0]) * view.qScale), size.width / ((keys[1] - keys[0]) * view.kScale));
  const enough = Math.max(tall, wide) >= MIN_SHOWN;
  const near = zoomAt(view, enough ? Math.min(1, fitted) : fitted, 0, 0, extent, size);
  return centreOn(near, (rows[0] + rows[1]) / 2, (keys[0] + keys[1]) / 2, extent, size);
}

/** A window around [start, stop), up to four times as long, that stays the same while the view moves a little. */
export function alignedWindow([start, stop]: readonly [number, number]): [number, number] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(1, stop - start)));
  const first = Math.max(0, Math.floor(start / size) * size - size / 2);
  return [Math.floor(first), Math.ceil(stop / size) * size + Math.ceil(size / 2)];
}

/** Cells of which a part is in view: [first, stop) of queries and of keys. */
export function shownRange(
  view: Viewport,
  extent: Extent,
  size: Size,
): { rows: [number, number]; keys: [number, number] } {
  const along = (start: number, shown: number, length: number): [number, number] => [
    clamp(Math.floor(start), 0, length),
    clamp(Math.ceil(start + shown - 1e-6), 0, length),
  ];
  return {
    rows: along(view.q0, size.height / view.qScale, extent.qLen),
    keys: along(view.k0, size.width / view.kScale, extent.kvLen),
  };
}

/** The cell under a point, or null outside the mask. */
export function cellAt(view: Viewport, x: number, y: number, extent: Extent): { q: number; k: number } | null {
  const q = Math.floor(view.q0 + y / view.qScale);
  const k = Math.floor(view.k0 + x / view.kScale);
  return q >= 0 && q < extent.qLen && k >= 0 && k < extent.kvLen ? { q, k } : null;
}

/** Keeps the mask in the area: centred along an axis that fits, else without a gap. */
export function clampPan(view: Viewport, extent: Extent, size: Size): Viewport {
  return {
    ...view,
    q0: clampAxis(view.q0, size.height / view.qScale, extent.qLen),
    k0: clampAxis(view.k0, size.width / view.kScale, extent.kvLen),
  };
}

function clampAxis(start: number, shown: number, length: number): number {
  return shown >= length ? -(shown - length) / 2 : clamp(start, 0, length - shown);
}

/** The density level whose pixels are one to two device pixels wide: finer would drop thin bands. */
export function levelFor(view: Viewport, pixelRatio: number, levels: number): number {
  const needed = (scale: number) => Math.ceil(-Math.log2(scale * pixelRatio) - 1e-6);
  return clamp(Math.max(needed(view.qScale), needed(view.kScale)), 0, levels - 1);
}

/** The finest level on which one tile holds the whole mask. */
export function wholeLevel({ qLen, kvLen }: Extent): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(qLen, kvLen) / TILE_SIDE)));
}

/** Tiles of a level that the area shows, from the centre outwards. */
export function visibleTiles(view: Viewport, size: Size, z: number, extent: Extent): TileId[] {
  const side = TILE_SIDE * 2 ** z;
  const last = (length: number) => Math.ceil(length / side) - 1;
  const yFrom = clamp(Math.floor(view.q0 / side), 0, last(extent.qLen));
  const yTo = clamp(Math.floor((view.q0 + size.height / view.qScale) / side), 0, last(extent.qLen));
  const xFrom = clamp(Math.floor(view.k0 / side), 0, last(extent.kvLen));
  const xTo = clamp(Math.floor((view.k0 + size.width / view.kScale) / side), 0, last(extent.kvLen));
  const tiles: TileId[] = [];
  for (let y = yFrom; y <= yTo; y++) {
    for (let x = xFrom; x <= xTo; x++) tiles.push({ z, y, x });
  }
  const distance = (tile: TileId) => Math.hypot(tile.y - (yFrom + yTo) / 2, tile.x - (xFrom + xTo) / 2);
  return tiles.sort((a, b) => distance(a) - distance(b));
}

export function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}
