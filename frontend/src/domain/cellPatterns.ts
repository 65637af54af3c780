/** Which pixels get which pattern, for those who see no colour. */

import { FULL, PARTIAL } from "./kernelTiles";
import { type MaskPalette, ruleColour, ruleOf } from "./palette";

/** Lines and dots on a square of 8 pixels. */
export const PATTERNS = ["dots", "rising", "falling", "level", "upright", "crossed", "checked", "dashes"] as const;
export type Pattern = (typeof PATTERNS)[number];

/** pattern: drawn where `shape` is not 0, by the byte of a tile. ground: the colour that it is drawn on. */
export interface PatternClass {
  name: string;
  pattern: Pattern;
  shape: Uint32Array;
  ground: (palette: MaskPalette) => string;
}

const SET = 0xffffffff;

function shapeOf(test: (byte: number) => boolean): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => (test(byte) ? SET : 0));
}

export const DENSITY_CLASSES: readonly PatternClass[] = [
  { name: "full", pattern: "dots", shape: shapeOf((byte) => byte === 255), ground: (palette) => palette.full },
  {
    name: "partial",
    pattern: "rising",
    shape: shapeOf((byte) => byte > 0 && byte < 255),
    ground: (palette) => palette.partialLow,
  },
];

export const KIND_CLASSES: readonly PatternClass[] = [
  { name: "full", pattern: "dots", shape: shapeOf((byte) => byte === FULL), ground: (palette) => palette.full },
  {
    name: "partial",
    pattern: "rising",
    shape: shapeOf((byte) => byte === PARTIAL),
    ground: (palette) => palette.partialTile,
  },
];

export const RULE_CLASSES: readonly PatternClass[] = PATTERNS.map((pattern, number) => ({
  name: `rule${number}`,
  pattern,
  shape: shapeOf((byte) => {
    const rule = ruleOf(byte);
    return rule !== null && rule % PATTERNS.length === number;
  }),
  ground: (palette) => ruleColour(palette, number),
}));
