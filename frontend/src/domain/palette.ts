/** Colours of the mask. Blue and orange stay apart for every common kind of colour blindness. */

export type ThemeName = "light" | "dark";

export interface MaskPalette {
  hidden: string;
  /** Colours of the smallest and the largest density that is neither none nor all. */
  partialLow: string;
  partialHigh: string;
  full: string;
  /** One partial kernel tile; its hatch is drawn in `hatch`. */
  partialTile: string;
  hatch: string;
  grid: string;
  boundary: string;
  cursor: string;
  /** A place that the user is sent to. */
  mark: string;
  rulerInk: string;
  rulerMuted: string;
  rulerBand: string;
  rulerBandAlternate: string;
}

export const PALETTES: Record<ThemeName, MaskPalette> = {
  light: {
    hidden: "#e9ecef",
    partialLow: "#f3cd97",
    partialHigh: "#d2740f",
    full: "#2e6db4",
    partialTile: "#f0b568",
    hatch: "#a85a08",
    grid: "rgba(20, 28, 38, 0.14)",
    boundary: "rgba(20, 28, 38, 0.5)",
    cursor: "#101418",
    mark: "#c2185b",
    rulerInk: "#23292f",
    rulerMuted: "#5a636c",
    rulerBand: "#e1e5e9",
    rulerBandAlternate: "#d1d7dd",
  },
  dark: {
    hidden: "#20262d",
    partialLow: "#6d481b",
    partialHigh: "#f0a544",
    full: "#4f8fe6",
    partialTile: "#a56a20",
    hatch: "#f6c078",
    grid: "rgba(230, 238, 246, 0.13)",
    boundary: "rgba(235, 241, 247, 0.5)",
    cursor: "#ffffff",
    mark: "#ff7eb6",
    rulerInk: "#dfe5eb",
    rulerMuted: "#97a2ad",
    rulerBand: "#272e36",
    rulerBandAlternate: "#343d47",
  },
};

type Rgb = readonly [number, number, number];

function parseHex(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

function pack([r, g, b]: Rgb): number {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/**
 * Colour of each density byte as a little-endian RGBA word: 0 hidden, 255 full, between them a ramp whose first step
 * already differs clearly from hidden, so that a thin band cannot vanish.
 */
export function densityLut(palette: MaskPalette): Uint32Array {
  const low = parseHex(palette.partialLow);
  const high = parseHex(palette.partialHigh);
  const lut = new Uint32Array(256);
  for (let density = 1; density < 255; density++) {
    const share = (density - 1) / 253;
    const mix = (channel: 0 | 1 | 2) => Math.round(low[channel] + (high[channel] - low[channel]) * share);
    lut[density] = pack([mix(0), mix(1), mix(2)]);
  }
  lut[0] = pack(parseHex(palette.hidden));
  lut[255] = pack(parseHex(palette.full));
  return lut;
}

/** Colours by tile kind: empty, partial, full. */
export function kindLut(palette: MaskPalette): Uint32Array {
  return Uint32Array.of(
    pack(parseHex(palette.hidden)),
    pack(parseHex(palette.partialTile)),
    pack(parseHex(palette.full)),
  );
}
