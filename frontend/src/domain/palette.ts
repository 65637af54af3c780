/** Colours of the mask. */

export type ThemeName = "light" | "dark";
export type Look = "classic" | "viridis" | "grey";

/** All of them keep hidden, partly visible and visible apart for every common kind of colour blindness. */
export const LOOKS: readonly { id: Look; label: string }[] = [
  { id: "classic", label: "Blue and orange" },
  { id: "viridis", label: "Violet and yellow" },
  { id: "grey", label: "Grey" },
];

export interface MaskPalette {
  hidden: string;
  /** Colours of the smallest and the largest density that is neither none nor all. */
  partialLow: string;
  partialHigh: string;
  full: string;
  /** One partial kernel tile; its hatch is drawn in `hatch`. */
  partialTile: string;
  hatch: string;
  /** Rules in the order of the text; more rules begin anew. */
  rules: readonly string[];
  /** Laid over everything that is not lit. */
  veil: string;
  /** Around what is chosen in a list. */
  outline: string;
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

type CellColours = Pick<MaskPalette, "partialLow" | "partialHigh" | "full" | "partialTile" | "hatch" | "rules">;

const GROUND = {
  light: {
    hidden: "#e9ecef",
    veil: "rgba(244, 245, 246, 0.8)",
    outline: "#d4006e",
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
    veil: "rgba(15, 18, 21, 0.8)",
    outline: "#ff9be8",
    grid: "rgba(230, 238, 246, 0.13)",
    boundary: "rgba(235, 241, 247, 0.5)",
    cursor: "#ffffff",
    mark: "#ff7eb6",
    rulerInk: "#dfe5eb",
    rulerMuted: "#97a2ad",
    rulerBand: "#272e36",
    rulerBandAlternate: "#343d47",
  },
} as const;

/** The eight colours of Okabe and Ito (2008), whose black is a grey that stands out from either ground. */
const RULES = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8a100", "#3f9fd6", "#8c5a00", "#4d5660"],
  dark: ["#56b4e9", "#e69f00", "#2bc49a", "#e08bbd", "#f0e442", "#6f9bff", "#c98b4b", "#aeb8c2"],
} as const;

const GREYS = {
  light: ["#1c2126", "#59626b", "#8b949d", "#3a424a", "#717a83", "#a3abb3", "#2b3238", "#656e77"],
  dark: ["#f2f5f8", "#a9b2bb", "#7b858f", "#cdd4da", "#939da6", "#646d76", "#e0e5ea", "#87919a"],
} as const;

const CELLS: Record<Look, Record<ThemeName, CellColours>> = {
  classic: {
    light: {
      partialLow: "#f3cd97",
      partialHigh: "#d2740f",
      full: "#2e6db4",
      partialTile: "#f0b568",
      hatch: "#a85a08",
      rules: RULES.light,
    },
    dark: {
      partialLow: "#6d481b",
      partialHigh: "#f0a544",
      full: "#4f8fe6",
      partialTile: "#96601c",
      hatch: "#f6c078",
      rules: RULES.dark,
    },
  },
  viridis: {
    light: {
      partialLow: "#e2d33a",
      partialHigh: "#23948c",
      full: "#44156b",
      partialTile: "#6fbf72",
      hatch: "#1d5f57",
      rules: RULES.light,
    },
    dark: {
      partialLow: "#3c3a75",
      partialHigh: "#2aa58b",
      full: "#f4e04d",
      partialTile: "#27777e",
      hatch: "#9fe3c8",
      rules: RULES.dark,
    },
  },
  grey: {
    light: {
      partialLow: "#c3c9cf",
      partialHigh: "#79828b",
      full: "#23292f",
      partialTile: "#b4bbc2",
      hatch: "#4b545d",
      rules: GREYS.light,
    },
    dark: {
      partialLow: "#454e58",
      partialHigh: "#98a2ac",
      full: "#eef2f6",
      partialTile: "#5b6670",
      hatch: "#c9d1d9",
      rules: GREYS.dark,
    },
  },
};

const known = new Map<string, MaskPalette>();

/** The same object each time. */
export function paletteOf(theme: ThemeName, look: Look = "classic"): MaskPalette {
  const name = `${theme}/${look}`;
  const palette = known.get(name) ?? { ...GROUND[theme], ...CELLS[look][theme] };
  known.set(name, palette);
  return palette;
}

/** The look that everything has in which no look can be chosen. */
export const PALETTES: Record<ThemeName, MaskPalette> = { light: paletteOf("light"), dark: paletteOf("dark") };

export function isLook(text: string | null): text is Look {
  return LOOKS.some((look) => look.id === text);
}

type Rgb = readonly [number, number, number];

export function parseHex(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

function pack([r, g, b]: Rgb, alpha = 255): number {
  return ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  const mix = (channel: 0 | 1 | 2) => Math.round(from[channel] + (to[channel] - from[channel]) * share);
  return [mix(0), mix(1), mix(2)];
}

/**
 * Colour of each density byte as a little-endian RGBA word: 0 hidden, 255 full, between them a ramp whose first step
 * already differs clearly from hidden, so that a thin band cannot vanish.
 */
export function densityLut(palette: MaskPalette): Uint32Array {
  const low = parseHex(palette.partialLow);
  const high = parseHex(palette.partialHigh);
  const lut = new Uint32Array(256);
  for (let density = 1; density < 255; density++) lut[density] = pack(mixed(low, high, (density - 1) / 253));
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

/** The number of the rule in a byte of a picture of rules; null where nothing is visible. */
export function ruleOf(byte: number): number | null {
  if (byte === 0) return null;
  return byte < PARTLY ? byte - 1 : byte - PARTLY;
}

/** From this byte on a pixel of a picture of rules is visible in part. */
const PARTLY = 128;
/** How much of a rule's colour is left where only some of a pixel's cells are visible. */
const PARTLY_SHARE = 0.6;

/** Colours of a picture of rules: the rule's own, paler where only some of a pixel's cells are visible. */
export function rulesLut(palette: MaskPalette): Uint32Array {
  const hidden = parseHex(palette.hidden);
  const lut = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    const rule = ruleOf(byte);
    const colour = rule === null ? hidden : parseHex(ruleColour(palette, rule));
    lut[byte] = pack(byte < PARTLY ? colour : mixed(hidden, colour, PARTLY_SHARE));
  }
  return lut;
}

/** The colour in which lines are seen best on a ground. */
export function inkOn(ground: string): string {
  const [r, g, b] = parseHex(ground);
  return 0.299 * r + 0.587 * g + 0.114 * b > 135 ? "#0b0f13" : "#ffffff";
}

export function ruleColour(palette: MaskPalette, rule: number): string {
  return palette.rules[rule % palette.rules.length] ?? palette.full;
}

/** The properties of style sheets that colour tiles by kind, as the picture does. */
export function cellProperties({ hidden, full, partialTile, hatch }: MaskPalette): Record<`--${string}`, string> {
  return { "--hidden": hidden, "--full": full, "--partial-fill": partialTile, "--hatch": hatch };
}

/** Opaque where a density is 0, clear elsewhere: a veil in this shape lights all other cells. */
export const VEIL_LUT = Uint32Array.from({ length: 256 }, (_, density) => (density === 0 ? pack([0, 0, 0]) : 0));
