/** Where the parts of the mask's picture lie: rulers above and left, the cells, the strip of one row below. */

import { formatInt } from "../../domain/format";
import type { Size } from "../../domain/viewport";

export interface Layout {
  /** The whole canvas in CSS pixels. */
  canvas: Size;
  /** Left and top of the cells. */
  left: number;
  top: number;
  area: Size;
  /** Top of the strip that shows the row under the cursor. */
  stripTop: number;
}

export const REGION_BAND = 18;
export const STRIP_HEIGHT = 12;
const STRIP_GAP = 8;

/** Width of a figure of the ruler's numbers, and what they need besides. */
const FIGURE = 6.6;
const BESIDE_FIGURES = 14;

/** rows: how many the mask has, which says how wide their numbers are. */
export function layoutOf(canvas: Size, rows: number): Layout {
  const numbers = BESIDE_FIGURES + FIGURE * formatInt(rows).length;
  const left = REGION_BAND + Math.round(Math.max(canvas.width < 480 ? 36 : 46, numbers));
  const top = REGION_BAND + 20;
  const area = {
    width: Math.max(1, canvas.width - left - 10),
    height: Math.max(1, canvas.height - top - STRIP_GAP - STRIP_HEIGHT - 8),
  };
  return { canvas, left, top, area, stripTop: top + area.height + STRIP_GAP };
}
