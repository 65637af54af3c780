/** Where the parts of the mask's picture lie: rulers above and left, the cells, the strip of one row below. */

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

export function layoutOf(canvas: Size): Layout {
  const left = REGION_BAND + (canvas.width < 480 ? 36 : 46);
  const top = REGION_BAND + 20;
  const area = {
    width: Math.max(1, canvas.width - left - 10),
    height: Math.max(1, canvas.height - top - STRIP_GAP - STRIP_HEIGHT - 8),
  };
  return { canvas, left, top, area, stripTop: top + area.height + STRIP_GAP };
}
