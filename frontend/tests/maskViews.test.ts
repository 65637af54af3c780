import { describe, expect, it } from "vitest";
import type { RunRow } from "../src/api/types";
import { DENSITY_CLASSES, PATTERNS, RULE_CLASSES } from "../src/domain/cellPatterns";
import { repeatText } from "../src/domain/formulas";
import { parseMaskQuery, writeMaskQuery } from "../src/domain/maskQuery";
import { membersWithin, outlineBounds, outlineOfCells, outlineOfTile } from "../src/domain/outline";
import { inkOn, LOOKS, paletteOf, parseHex, ruleColour, ruleOf, rulesLut, VEIL_LUT } from "../src/domain/palette";
import { bandLabels, shorterLabels } from "../src/domain/regionLabels";
import { alignedWindow, centreOn, fitView, shownRange, showRange } from "../src/domain/viewport";

const span = (label: string, start: number, stop: number) => ({
  name: label.replace(/\[.*?\]/g, ""),
  label,
  start,
  stop,
});

describe("region labels", () => {
  const width = (text: string) => 7 * text.length;

  it("get shorter without losing the number", () => {
    expect(shorterLabels("doc[2].R[3]")).toEqual(["doc[2].R[3]", "2.R[3]", "2.3"]);
    expect(shorterLabels("H")).toEqual(["H"]);
    expect(shorterLabels("D[17]")).toEqual(["D[17]", "17"]);
  });

  it("stand on every instance with room, and crowded neighbours share one", () => {
    const spans = Array.from({ length: 20 }, (_, i) => span(`D[${i}]`, 10 * i, 10 * i + 10));
    expect(bandLabels(spans, 0, 5, 1000, width).map((label) => label.text)).toEqual(spans.map((one) => one.label));
    expect(bandLabels(spans, 0, 0.5, 100, width)).toEqual([{ from: 0, to: 100, text: "D[0–19]" }]);
    expect(bandLabels(spans, 100, 0.5, 50, width).map((label) => label.text)).toEqual(["10–19"]);
    expect(bandLabels(spans, 100, 1.2, 120, width).map((label) => label.text)).toEqual(["D[10–19]"]);
  });

  it("are shared only within one outermost region", () => {
    const spans = [span("C", 0, 4), span("H", 4, 8), span("g[0].P", 8, 90), span("g[0].R[0]", 90, 96)];
    expect(bandLabels(spans, 0, 1, 96, width).map((label) => label.text)).toEqual(["g[0].P"]);
    const crowd = [span("g[4].P", 0, 20), span("g[4].R[0]", 20, 40), span("g[5].P", 40, 60)];
    expect(bandLabels(crowd, 0, 2, 120, width).map((label) => label.text)).toEqual(["4.P", "4.0", "5.P"]);
    expect(bandLabels(crowd, 0, 1.1, 66, width).map((label) => label.text)).toEqual(["g[4–5]"]);
  });
});

describe("the address", () => {
  it("keeps how a mask is looked at, and others' parameters", () => {
    const query = {
      layer: "rules",
      blockM: 64,
      blockN: null,
      item: 2,
      head: 0,
      cell: { q: 5, k: 0 },
    } as const;
    const search = writeMaskQuery("?sel=1%2C2", query);
    expect(search).toBe("?sel=1%2C2&layer=rules&m=64&item=2&q=5&k=0");
    expect(parseMaskQuery(search)).toEqual(query);
    const plain = parseMaskQuery("");
    expect(writeMaskQuery(search, plain)).toBe("?sel=1%2C2");
    expect(writeMaskQuery("?layer=rules", plain)).toBe("");
  });

  it("takes nothing that makes no sense", () => {
    const plain = parseMaskQuery("");
    expect(parseMaskQuery("?layer=x&m=17&n=-64&item=-1&head=1.5&q=3&k=")).toEqual(plain);
    expect(plain).toEqual({ layer: "density", blockM: null, blockN: null, item: 0, head: 0, cell: null });
  });
});

describe("pictures of rules", () => {
  it("name a rule whether all or some cells of a pixel are visible", () => {
    expect([0, 1, 2, 127, 128, 254].map(ruleOf)).toEqual([null, 0, 1, 126, 0, 126]);
  });

  it.each(["light", "dark"] as const)("have eight colours that differ, paler in part, %s", (theme) => {
    const palette = paletteOf(theme);
    const lut = rulesLut(palette);
    const shown = [...Array(8).keys()].flatMap((rule) => [lut[1 + rule], lut[128 + rule]]);
    expect(new Set([lut[0], ...shown]).size).toBe(17);
    expect(ruleColour(palette, 9)).toBe(ruleColour(palette, 1));
  });

  it("give every byte one pattern at most, and every visible one a pattern", () => {
    for (const classes of [RULE_CLASSES, DENSITY_CLASSES]) {
      for (let byte = 0; byte < 255; byte++)
        expect(classes.filter((one) => one.shape[byte] !== 0).length).toBe(byte === 0 ? 0 : 1);
    }
    expect(new Set(RULE_CLASSES.map((one) => one.pattern)).size).toBe(PATTERNS.length);
    expect([VEIL_LUT[0], VEIL_LUT[1], VEIL_LUT[255]]).toEqual([0xff000000, 0, 0]);
  });

  it.each(LOOKS.map((look) => look.id))("tell hidden, partial and full apart by brightness alone, %s", (look) => {
    for (const theme of ["light", "dark"] as const) {
      const { hidden, partialTile, full } = paletteOf(theme, look);
      const bright = [hidden, partialTile, full].map((colour) => {
        const [r, g, b] = parseHex(colour);
        return 0.299 * r + 0.587 * g + 0.114 * b;
      });
      for (const [a, b] of [
        [0, 1],
        [1, 2],
        [0, 2],
      ] as const)
        expect(Math.abs((bright[a] ?? 0) - (bright[b] ?? 0)), `${theme} ${a} ${b}`).toBeGreaterThan(20);
      expect(inkOn(full)).not.toBe(full);
    }
  });
});

describe("the window of regions", () => {
  it("holds the view and stays while the view moves a little", () => {
    expect(alignedWindow([100, 200])).toEqual([0, 320]);
    expect(alignedWindow([110, 210])).toEqual([0, 320]);
    for (const [start, stop] of [
      [0, 1],
      [5, 9],
      [1000, 1003],
      [123_456, 223_456],
    ] as [number, number][]) {
      const [first, last] = alignedWindow([start, stop]);
      expect(first <= start && last >= stop && last - first <= 6 * (stop - start)).toBe(true);
      expect(Number.isInteger(first) && Number.isInteger(last)).toBe(true);
    }
  });
});

describe("outlines", () => {
  const run: RunRow = { q_start: 6, q_stop: 72, lo_slope: 1, lo_offset: -6, hi_slope: 1, hi_offset: 1, pairs: 0 };

  it("have the smallest rectangle around them", () => {
    expect(outlineBounds({ kind: "run", run })).toEqual({ rows: [6, 72], keys: [0, 72] });
    expect(outlineBounds(outlineOfCells([3, 4], [10, 20]))).toEqual({ rows: [3, 4], keys: [10, 20] });
    const rows = [
      [8, 16],
      [40, 48],
    ] as [number, number][];
    const tile = outlineOfTile({ number: 0, rows, total: 1, tiles: [{ keys: [[5, 9]], full: false }] });
    expect(outlineBounds(tile)).toEqual({ rows: [8, 48], keys: [5, 9] });
    expect(outlineBounds(outlineOfTile({ number: 0, rows, total: 0, tiles: [] }))).toBeNull();
  });

  it("of a family are its members in sight", () => {
    const family = {
      first: { ...run, q_start: 0, q_stop: 4, lo_offset: 0, lo_slope: 0, hi_slope: 0, hi_offset: 4 },
      repeats: [
        { count: 3, rows: 4, rows_stop: 4, lo: 4, hi: 4 },
        { count: 2, rows: 100, rows_stop: 100, lo: 0, hi: 0 },
      ],
      runs: 6,
    };
    const starts = (from: number, to: number) => membersWithin(family, from, to, 9).map((one) => one.q_start);
    expect(starts(0, 200)).toEqual([0, 100, 4, 104, 8, 108]);
    expect(starts(6, 9)).toEqual([4, 8]);
    expect(membersWithin(family, 0, 200, 2)).toHaveLength(2);
    expect(membersWithin(family, 0, 200, 9)[2]).toMatchObject({ q_start: 4, q_stop: 8, lo_offset: 4, hi_offset: 8 });
    expect(family.repeats.map((repeat) => repeatText(family.first, repeat))).toEqual([
      "3 ×, each 4 rows down, 4 keys right",
      "2 ×, each 100 rows down",
    ]);
    const causal = { ...family.first, hi_slope: 1, hi_offset: 1 };
    const step = { count: 5, rows: 8, rows_stop: 8, lo: 8, hi: 0 };
    expect(repeatText(causal, step)).toBe("5 ×, each 8 rows down, 8 keys right");
    expect(repeatText(causal, { ...step, lo: 0 })).toBe("5 ×, each 8 rows down, ends +0 and +8");
  });

  it("are moved to only when they cannot be seen", () => {
    const extent = { qLen: 4096, kvLen: 4096 };
    const size = { width: 800, height: 600 };
    const whole = fitView(extent, size);
    expect(showRange(whole, [0, 2000], [0, 2000], extent, size)).toBe(whole);
    const near = showRange(whole, [100, 101], [3000, 3008], extent, size);
    expect(near.kScale).toBeGreaterThan(whole.kScale);
    const { rows, keys } = shownRange(near, extent, size);
    expect(rows[0] <= 100 && rows[1] >= 101 && keys[0] <= 3000 && keys[1] >= 3008).toBe(true);
    const away = centreOn(near, 4000, 100, extent, size);
    const back = showRange(away, [0, 4096], [0, 4096], extent, size);
    expect(shownRange(back, extent, size)).toEqual({ rows: [0, 4096], keys: [0, 4096] });
  });
});
