import { describe, expect, it } from "vitest";
import { LAUNCH_PATH, RUN_PATH } from "../src/app/places";
import { MAX_DRAFTS, parseDraft, parseHistory, remember, type SavedDraft } from "../src/domain/drafts";
import { RUN_GROUP_FIELDS } from "../src/domain/generated/names";
import { LruCache } from "../src/domain/lru";
import { densityLut, kindLut, PALETTES } from "../src/domain/palette";
import { place, regionAt, regionsWithin } from "../src/domain/regions";
import { formatRunsView, groupFilter, hasFilters, NO_FILTERS, parseIds, parseRunsView } from "../src/domain/runsQuery";
import { decodeFragment, encodeFragment } from "../src/domain/shareLink";
import { ticks } from "../src/domain/ticks";

describe("links", () => {
  const draft = { source: "mask m(n: int) # é 🙂\ntokens { S: n }", values: { n: 7, on: true, list: [1, 2, 3] } };

  it("bring back exactly what was put in", async () => {
    const fragment = await encodeFragment(draft);
    expect(fragment).toMatch(/^#p=[A-Za-z0-9_-]+$/);
    expect(await decodeFragment(fragment)).toEqual(draft);
  });

  it("are refused in words when damaged, and ignored when they hold no program", async () => {
    expect(await decodeFragment("#somewhere")).toBeNull();
    await expect(decodeFragment("#p=!!!")).rejects.toThrow("damaged");
    const fragment = await encodeFragment(draft);
    await expect(decodeFragment(fragment.slice(0, -9))).rejects.toThrow("damaged");
  });

  it("cannot unpack to more than a program can be", async () => {
    const bomb = await encodeFragment({ source: "#".repeat(400_000), values: {} });
    expect(bomb.length).toBeLessThan(2000);
    await expect(decodeFragment(bomb)).rejects.toThrow("damaged");
  });
});

describe("drafts", () => {
  const saved = (id: number): SavedDraft => ({
    id: String(id),
    name: "m",
    savedAt: id,
    source: `mask m${id}()`,
    values: {},
  });

  it("keep each text once, the latest first, and forget the oldest", () => {
    let history: SavedDraft[] = [];
    for (let id = 0; id < MAX_DRAFTS + 5; id++) history = remember(history, saved(id));
    expect(history).toHaveLength(MAX_DRAFTS);
    const again = { ...saved(20), id: "again" };
    history = remember(history, again);
    expect(history[0]).toEqual(again);
    expect(history.filter((entry) => entry.source === again.source)).toHaveLength(1);
    expect(remember(history, { ...saved(1), source: "  \n" })).toEqual(history);
  });

  it("survive storage that holds something else", () => {
    for (const text of [null, "", "{", "[]", '{"source":3}', '{"source":"x","values":{"n":1.5}}']) {
      expect(parseDraft(text)).toBeNull();
    }
    expect(parseHistory('[{"source":"x"},4]')).toEqual([]);
    expect(parseHistory(JSON.stringify([saved(1), { bad: true }]))).toEqual([saved(1)]);
  });
});

describe("the address of the runs table", () => {
  it("holds the whole view and leaves out what is usual", () => {
    expect(formatRunsView(parseRunsView(""))).toBe("");
    const search =
      "q=a+b&provider=torch&verdict=failed&dtype=float16&sort=median_ms&order=asc&offset=50&limit=25&sel=3%2C9";
    expect(formatRunsView(parseRunsView(search))).toBe(search);
    const other = "preset=causal&direction=backward&head_dim=64&tag=a+b&launch=3&mask=ab&archived=true&group=provider";
    expect(formatRunsView(parseRunsView(other))).toBe(other);
  });

  it("shows the runs of a group by the filter of its field", () => {
    const { query } = parseRunsView("");
    for (const by of RUN_GROUP_FIELDS) {
      const value = { dtype: "float16", direction: "backward", verdict: "passed", head_dim: "64", launch_id: "7" }[
        by as string
      ];
      const filter = groupFilter(by, value ?? "some");
      expect(hasFilters({ ...query, ...filter }), by).toBe(true);
      expect(hasFilters({ ...query, ...filter, ...NO_FILTERS }), by).toBe(false);
    }
    expect(groupFilter("device", null)).toBeNull();
  });

  it("ignores what is not a choice", () => {
    const { query, selected } = parseRunsView("sort=evil&verdict=maybe&limit=7&offset=-3&sel=a,4,4");
    expect(query).toMatchObject({ sort: "created_at", order: "desc", limit: 50, offset: 0, verdict: undefined });
    expect(selected).toEqual([4]);
    expect(parseIds("1,2,x,2,0,99999999999999")).toEqual([1, 2]);
    const numbers = parseRunsView("head_dim=0&launch=99999999999&offset=99999999999&tag=%22%3Cb%3E").query;
    expect(numbers).toMatchObject({ head_dim: undefined, launch: undefined, offset: 0, tag: undefined });
  });

  it("takes only numbers for the address of a run or a launch", () => {
    for (const [pattern, name] of [
      [RUN_PATH, "runs"],
      [LAUNCH_PATH, "launches"],
    ] as const) {
      expect(pattern.exec(`/${name}/12`)?.groups?.id).toBe("12");
      for (const wrong of ["abc", "1.5", "0", "-1", "1e3", "12/x", "", "9".repeat(16)])
        expect(pattern.test(`/${name}/${wrong}`), wrong).toBe(false);
    }
  });
});

describe("regions and rulers", () => {
  const regions = [
    { name: "C", label: "C", start: 0, stop: 6 },
    { name: "H", label: "H", start: 6, stop: 72 },
    { name: "E", label: "E", start: 72, stop: 72 },
    { name: "T", label: "T[0]", start: 72, stop: 96 },
  ];

  it("find the region of every token", () => {
    for (let index = 0; index < 96; index++) {
      const expected = regions.find((span) => index >= span.start && index < span.stop);
      expect(regionAt(regions, index)).toEqual(expected);
    }
    expect(regionAt(regions, 96)).toBeNull();
    expect(place("query", 80, regions)).toBe("query 80 (T[0])");
    expect(regionsWithin(regions, 5, 73).shown.map((span) => span.name)).toEqual(["C", "H", "T"]);
  });

  it("set marks apart, at powers of two, inside the axis", () => {
    for (const [start, scale, length] of [
      [0, 0.02, 32768],
      [100, 3.3, 4096],
      [-3, 48, 8],
    ] as const) {
      const marks = ticks(start, scale, 700, length, 50);
      expect(marks.length).toBeGreaterThan(0);
      for (const [index, mark] of marks.entries()) {
        expect(mark.index).toBeGreaterThanOrEqual(0);
        expect(mark.index).toBeLessThan(length);
        const next = marks[index + 1];
        if (!next) continue;
        expect(next.at - mark.at).toBeGreaterThanOrEqual(50);
        expect(Math.log2(next.index - mark.index) % 1).toBe(0);
      }
    }
  });
});

describe("palettes", () => {
  it.each(["light", "dark"] as const)("keep any density apart from none and from all (%s)", (theme) => {
    const lut = densityLut(PALETTES[theme]);
    const channels = (word: number) => [word & 255, (word >> 8) & 255, (word >> 16) & 255];
    const distance = (a: number, b: number) =>
      Math.hypot(...channels(lut[a] ?? 0).map((value, index) => value - (channels(lut[b] ?? 0)[index] ?? 0)));
    for (let density = 1; density < 255; density++) {
      expect(distance(density, 0)).toBeGreaterThan(40);
      expect(distance(density, 255)).toBeGreaterThan(60);
    }
    expect(new Set(kindLut(PALETTES[theme])).size).toBe(3);
  });
});

describe("the tile cache", () => {
  it("forgets what was used longest ago", () => {
    const forgotten: number[] = [];
    const cache = new LruCache<string, number>(2, (value) => forgotten.push(value));
    cache.set("a", 1);
    cache.set("b", 2);
    expect(cache.get("a")).toBe(1);
    cache.set("c", 3);
    expect(forgotten).toEqual([2]);
    expect([cache.has("a"), cache.has("b"), cache.has("c"), cache.size]).toEqual([true, false, true, 2]);
    expect(() => new LruCache(0)).toThrow("capacity");
  });
});
