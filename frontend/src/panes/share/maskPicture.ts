/** The whole mask as a picture to take away, in the colours of the page. */

import { readMaskRuns, readTile } from "../../api/calls";
import type { Mask, RunRow } from "../../api/types";
import { maskSvg, pictureTitle } from "../../domain/maskSvg";
import { densityLut, PALETTES, type ThemeName } from "../../domain/palette";
import { TILE_SIDE } from "../../domain/viewport";

const SIDE = 1024;
const PAGE = 1000;
/** More trapezoids make a file that drawing programs open slowly. */
export const MAX_SVG_RUNS = 20_000;

/** A picture of at most `side` pixels along the longer axis; a small mask has whole pixels for its cells. */
export async function maskCanvas(mask: Mask, theme: ThemeName, side = SIDE): Promise<HTMLCanvasElement> {
  const { q_len, kv_len } = mask.statistics;
  const longest = Math.max(q_len, kv_len, 1);
  const level = Math.min(mask.levels - 1, Math.max(0, Math.ceil(Math.log2(longest / side))));
  const cells = 2 ** level;
  const rows = Math.max(1, Math.ceil(q_len / cells));
  const columns = Math.max(1, Math.ceil(kv_len / cells));
  const small = canvasOf(columns, rows);
  const lut = densityLut(PALETTES[theme]);
  const tiles: Promise<void>[] = [];
  for (let y = 0; y * TILE_SIDE < rows; y++) {
    for (let x = 0; x * TILE_SIDE < columns; x++) {
      tiles.push(readTile(mask.hash, level, y, x).then((bytes) => paintTile(small.context, bytes, lut, x, y)));
    }
  }
  await Promise.all(tiles);
  const factor = Math.max(1, Math.floor(side / Math.max(rows, columns)));
  const large = canvasOf(columns * factor, rows * factor);
  large.context.imageSmoothingEnabled = false;
  large.context.drawImage(small.canvas, 0, 0, columns * factor, rows * factor);
  return large.canvas;
}

function canvasOf(width: number, height: number): { canvas: HTMLCanvasElement; context: CanvasRenderingContext2D } {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser cannot draw on a canvas.");
  return { canvas, context };
}

function paintTile(context: CanvasRenderingContext2D, bytes: Uint8Array, lut: Uint32Array, x: number, y: number): void {
  const image = context.createImageData(TILE_SIDE, TILE_SIDE);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < pixels.length; at++) pixels[at] = lut[bytes[at] ?? 0] ?? 0;
  context.putImageData(image, x * TILE_SIDE, y * TILE_SIDE);
}

export function pngBlob(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser made no PNG."))), "image/png");
  });
}

/** An exact drawing of the mask's runs; an error in words when it has too many. */
export async function svgText(mask: Mask, name: string, theme: ThemeName): Promise<string> {
  const { runs } = mask.statistics;
  if (runs > MAX_SVG_RUNS)
    throw new Error(`This mask has ${runs} runs, and an SVG is drawn of up to ${MAX_SVG_RUNS}. Take the PNG.`);
  const rows: RunRow[] = [];
  while (rows.length < runs) {
    const page = await readMaskRuns(mask.hash, rows.length, PAGE);
    if (page.rows.length === 0) break;
    rows.push(...page.rows);
  }
  const { hidden, full, rulerInk, boundary } = PALETTES[theme];
  const ground = theme === "dark" ? "#15191d" : "#ffffff";
  return maskSvg(mask, rows, pictureTitle(name, mask), { ground, hidden, full, ink: rulerInk, line: boundary });
}
