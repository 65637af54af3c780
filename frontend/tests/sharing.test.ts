import { describe, expect, it } from "vitest";
import type { Mask, RunRow } from "../src/api/types";
import { ADDED, ALIKE, BOTH, DIFF_PALETTES, diffLut, REMOVED } from "../src/domain/diffPixels";
import { diffAddress, parseRef, readSides, type Sides } from "../src/domain/diffSides";
import { leadingComment } from "../src/domain/leadingComment";
import { maskMarkdown } from "../src/domain/maskMarkdown";
import { maskSvg, runPath } from "../src/domain/maskSvg";
import { drawLengths, type LengthsRecipe, uniform } from "../src/domain/randomLengths";
import { readTable } from "../src/domain/tableFile";

describe("random lengths", () => {
  const recipe: LengthsRecipe = { count: 50, minimum: 3, maximum: 90, total: null, spread: "even", seed: 7 };

  it("are the same for a seed and others for another", () => {
    expect(drawLengths(recipe)).toEqual(drawLengths(recipe));
    expect(drawLengths(recipe)).not.toEqual(drawLengths({ ...recipe, seed: 8 }));
  });

  it("keep to their bounds and their sum, whatever is asked", () => {
    for (let seed = 0; seed < 60; seed++) {
      const count = 1 + (seed % 17);
      const minimum = seed % 5;
      const maximum = minimum + (seed % 40);
      const totals = [null, count * minimum, count * maximum, Math.floor((count * (minimum + maximum)) / 2)];
      for (const spread of ["even", "skewed"] as const) {
        for (const total of totals) {
          const drawn = drawLengths({ count, minimum, maximum, total, spread, seed });
          if (!drawn.ok) throw new Error(drawn.message);
          expect(drawn.values).toHaveLength(count);
          expect(drawn.values.every((value) => value >= minimum && value <= maximum)).toBe(true);
          if (total !== null) expect(drawn.values.reduce((sum, value) => sum + value, 0)).toBe(total);
        }
      }
    }
  });

  it("cover the range evenly, or lean to the short side", () => {
    const mean = (spread: LengthsRecipe["spread"]) => {
      const drawn = drawLengths({ ...recipe, count: 20_000, minimum: 0, maximum: 1000, spread });
      return drawn.ok ? drawn.values.reduce((sum, value) => sum + value, 0) / drawn.values.length : Number.NaN;
    };
    expect(mean("even")).toBeCloseTo(500, -1);
    expect(mean("skewed")).toBeCloseTo(250, -1);
    const next = uniform(1);
    const seen = new Set(Array.from({ length: 1000 }, next));
    expect(seen.size).toBeGreaterThan(990);
  });

  it("that cannot be are refused in words", () => {
    expect(drawLengths({ ...recipe, total: 149 })).toEqual({
      ok: false,
      message: "50 numbers from 3 to 90 add up to 150 to 4,500.",
    });
    expect(drawLengths({ ...recipe, minimum: 91 }).ok).toBe(false);
    expect(drawLengths({ ...recipe, count: 0 }).ok).toBe(false);
  });
});

describe("a table out of a file", () => {
  const list = { bool: false, depth: 1 } as const;
  const table = { bool: false, depth: 2 } as const;

  it("is read from JSON and from lines", () => {
    expect(readTable("[3, 4, 5]", list)).toEqual({ ok: true, value: [3, 4, 5] });
    expect(readTable("[[3], [4, 5], []]", table)).toEqual({ ok: true, value: [[3], [4, 5], []] });
    expect(readTable("lengths\n3\n4\n5\n", list)).toEqual({ ok: true, value: [3, 4, 5] });
    expect(readTable("\uFEFF3, 4; 5\r\n", list)).toEqual({ ok: true, value: [3, 4, 5] });
    expect(readTable("# parents\n1,2\n3\n", table)).toEqual({ ok: true, value: [[1, 2], [3]] });
    expect(readTable("true,0", { bool: true, depth: 1 })).toEqual({ ok: true, value: [true, false] });
  });

  it("is refused with the place of what is wrong", () => {
    expect(readTable("3\n4.5\n", list)).toEqual({ ok: false, message: "row 2: “4.5” is not a whole number" });
    expect(readTable("4.5\n3\n", list)).toEqual({ ok: false, message: "row 1: “4.5” is not a whole number" });
    expect(readTable("1e3\n3\n", list)).toEqual({ ok: false, message: "row 1: “1e3” is not a whole number" });
    expect(readTable("1,2\n3,4", list)).toMatchObject({ ok: false, message: /2 rows/ });
    for (const text of ["", "{}", "[1, [2]]", '["1"]', "[1", "a\nb"]) expect(readTable(text, list).ok).toBe(false);
  });
});

describe("the sides of a diff", () => {
  const draft = { source: "mask a(n: int)\n# ünïcode & more", values: { n: 3 } };
  const cases: Sides[] = [
    { left: { kind: "preset", name: "causal" }, right: { kind: "saved", id: 12, version: 3 } },
    { left: { kind: "saved", id: 12, version: null }, right: { kind: "run", id: 9 } },
    { left: { kind: "text", draft }, right: { kind: "text", draft: { ...draft, values: {} } } },
    { left: null, right: { kind: "preset", name: "bd3lm" } },
    { left: null, right: null },
  ];

  it.each(cases)("come back from the address", async (sides) => {
    const url = new URL(await diffAddress(sides), "http://studio");
    expect(await readSides(url.search, url.hash)).toEqual(sides);
  });

  it("that name nothing are refused in words", () => {
    for (const text of ["causal", "saved:x", "run:", "preset:a b", "saved:1@"])
      expect(() => parseRef(text)).toThrow("names no mask");
  });
});

describe("the colours of a difference", () => {
  it.each(["light", "dark"] as const)("never hide one (%s)", (theme) => {
    const lut = diffLut(DIFF_PALETTES[theme]);
    const colours = (kind: number) => new Set(lut.slice(kind * 64, kind * 64 + 64));
    for (const kind of [ADDED, REMOVED, BOTH])
      for (const other of [ALIKE, ADDED, REMOVED, BOTH])
        if (other !== kind) for (const colour of colours(kind)) expect(colours(other).has(colour)).toBe(false);
  });
});

describe("the comment at the head of a text", () => {
  it("is found when it is long and something follows", () => {
    const text = "## Title\n##\n## More\nmask a()";
    const found = leadingComment(text);
    expect(found && text.slice(found.from, found.to)).toBe("\n##\n## More");
  });

  it("is left alone when it is short, or all there is", () => {
    for (const text of ["", "mask a()", "## one\nmask a()", "# 1\n# 2\nmask a()", "# 1\n# 2\n# 3\n"])
      expect(leadingComment(text)).toBeNull();
  });
});

describe("a mask as SVG", () => {
  /** The cells that a path covers, by the even-odd rule at the middle of each. */
  function cellsOf(path: string, rows: number, columns: number): boolean[][] {
    const points = path
      .slice(1, -1)
      .split("L")
      .map((point) => point.split(" ").map(Number) as [number, number]);
    const inside = (x: number, y: number) => {
      let odd = false;
      for (const [at, [x1, y1]] of points.entries()) {
        const [x2, y2] = points[(at + 1) % points.length] ?? [0, 0];
        if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) odd = !odd;
      }
      return odd;
    };
    return Array.from({ length: rows }, (_, q) => Array.from({ length: columns }, (_, k) => inside(k + 0.5, q + 0.5)));
  }

  it.each([
    { q_start: 1, q_stop: 6, lo_slope: 0, lo_offset: 0, hi_slope: 1, hi_offset: 1 },
    { q_start: 0, q_stop: 4, lo_slope: 1, lo_offset: 2, hi_slope: 0, hi_offset: 9 },
    { q_start: 2, q_stop: 5, lo_slope: -1, lo_offset: 6, hi_slope: 2, hi_offset: 2 },
    { q_start: 3, q_stop: 8, lo_slope: 0, lo_offset: 4, hi_slope: 0, hi_offset: 6 },
  ])("draws exactly the cells of a run", (run) => {
    const cells = cellsOf(runPath({ ...run, pairs: 0 }), 9, 16);
    for (const [q, row] of cells.entries())
      for (const [k, drawn] of row.entries()) {
        const seen =
          q >= run.q_start &&
          q < run.q_stop &&
          k >= run.lo_slope * q + run.lo_offset &&
          k < run.hi_slope * q + run.hi_offset;
        expect([q, k, drawn]).toEqual([q, k, seen]);
      }
  });

  it("takes names as text, never as markup", () => {
    const region = { name: "R", label: '<b>"&', start: 0, stop: 4 };
    const mask = {
      statistics: { q_len: 4, kv_len: 4, visible_pairs: 0 },
      query_regions: [region],
      key_regions: [region],
    };
    const colours = { ground: "#fff", hidden: "#eee", full: "#00f", ink: "#000", line: "#999" };
    const svg = maskSvg(mask as unknown as Mask, [] as RunRow[], "<script>", colours);
    expect(svg).not.toMatch(/<script>|<b>/);
    expect(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement.tagName).toBe("svg");
  });
});

describe("a mask as Markdown", () => {
  it("fences a text that has fences itself", () => {
    const draft = { source: "# ```\nmask a()", values: { n: 3 } };
    const text = maskMarkdown({ title: "a_b", draft, picture: "data:image/png;base64,AA", link: "http://x/#p=1" });
    expect(text).toContain("````mask\n# ```\nmask a()\n````");
    expect(text).toContain("**a\\_b**");
    expect(text).toContain("![a\\_b](data:image/png;base64,AA)");
    expect(text).toContain("Numbers: `n=3`");
  });
});
