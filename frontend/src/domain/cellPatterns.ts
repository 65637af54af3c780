/** Which pixels get which pattern, for those who see no colour. */

import { FULL, PARTIAL } from "./kernelTiles";
import { ruleOf } from "./palette";

/** Lines and dots on a square of 8 pixels. */
export const PATTERNS = ["dots", "rising", "falling", "level", "upright", "crossed", "checked", "dashes"] as const;
export type Pattern = (typeof PATTERNS)[number];

/** pattern: drawn where `shape` is not 0, by the byte of a tile. */
export interface PatternClass {
  name: string;
  pattern: Pattern;
  shape: Uint32Array;
}

const SET = 0xffffffff;

function shapeOf(test: (byte: number) => boolean): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => (test(byte) ? SET : 0));
}

export const DENSITY_CLASSES: readonly PatternClass[] = [
  { name: "full", pattern: "dots", shape: shapeOf((byte) => byte === 255) },
  { name: "partial", pattern: "rising", shape: shapeOf((byte) => byte > 0 && byte < 255) },
];

export const KIND_CLASSES: readonly PatternClass[] = [
  { name: "full", pattern: "dots", shape: shapeOf((byte) => byte === FULL) },
  { name: "partial", pattern: "rising", shape: shapeOf((byte) => byte === PARTIAL) },
];

export const RULE_CLASSES: readonly PatternClass[] = PATTERNS.map((pattern, number) => ({
  name: `rule${number}`,
  pattern,
  shape: shapeOf((byte) => {
    const rule = ruleOf(byte);
    return rule !== null && rule % PATTERNS.length === number;
  }),
}));
