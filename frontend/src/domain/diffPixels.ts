/** The bytes of a difference tile: the kind of difference times 64, plus an amount from 0 to 63. */

import type { ThemeName } from "./palette";

export const ALIKE = 0;
export const ADDED = 1;
export const REMOVED = 2;
export const BOTH = 3;

export interface DiffPalette {
  hidden: string;
  /** Cells that both masks show: of the smallest and the largest share. */
  common: readonly [string, string];
  added: readonly [string, string];
  removed: readonly [string, string];
  both: readonly [string, string];
}

/** Blue-green for added and red-violet for removed differ in lightness too, so that they stay apart without colour. */
export const DIFF_PALETTES: Record<ThemeName, DiffPalette> = {
  light: {
    hidden: "#f1f3f5",
    common: ["#dde2e7", "#b3bcc6"],
    added: ["#5cc0a6", "#0b7a5f"],
    removed: ["#e58a9e", "#b3123f"],
    both: ["#c9a3e6", "#6f2da8"],
  },
  dark: {
    hidden: "#181d22",
    common: ["#2b333c", "#55626f"],
    added: ["#2a8f76", "#5ee0bd"],
    removed: ["#a03a57", "#ff8fa8"],
    both: ["#6b4a8a", "#cf9bf5"],
  },
};

/** The colour of every byte as a little-endian RGBA word. A pixel with a difference never looks like one without. */
export function diffLut(palette: DiffPalette): Uint32Array {
  const lut = new Uint32Array(256);
  const ramps = [palette.common, palette.added, palette.removed, palette.both];
  for (const [kind, [low, high]] of ramps.entries()) {
    for (let amount = 0; amount < 64; amount++) lut[kind * 64 + amount] = mix(low, high, amount / 63);
  }
  lut[0] = mix(palette.hidden, palette.hidden, 0);
  return lut;
}

function mix(low: string, high: string, share: number): number {
  const from = Number.parseInt(low.slice(1), 16);
  const to = Number.parseInt(high.slice(1), 16);
  const channel = (shift: number) => {
    const a = (from >> shift) & 255;
    return Math.round(a + (((to >> shift) & 255) - a) * share);
  };
  return ((255 << 24) | (channel(0) << 16) | (channel(8) << 8) | channel(16)) >>> 0;
}
