import { describe, expect, it } from "vitest";
import { changeOf } from "../src/domain/change";
import { docBlocks, firstSentence } from "../src/domain/docText";
import {
  formatAge,
  formatBytes,
  formatError,
  formatFlops,
  formatInt,
  formatMs,
  formatMsRange,
  formatPercent,
  formatRate,
  formatSignificant,
  rateUnit,
} from "../src/domain/format";
import { affine, runText } from "../src/domain/formulas";
import { contains, intervalsText, totalLength } from "../src/domain/intervals";
import { plotText } from "../src/domain/plotText";
import { cautions, sizeText } from "../src/domain/runText";
import { labelLanes } from "../src/domain/worst";

describe("numbers", () => {
  it("read as people read them", () => {
    expect(formatInt(537395200)).toBe("537,395,200");
    expect(formatSignificant(0.4983)).toBe("0.498");
    expect(formatSignificant(0.0000123)).toBe("1.23e-5");
    expect(formatMs(4.1934)).toBe("4.19 ms");
    expect(formatMs(0.0421)).toBe("42.1 µs");
    expect(formatMs(12345)).toBe("12.3 s");
    expect(formatBytes(208)).toBe("208 B");
    expect(formatBytes(24276692992)).toBe("22.6 GiB");
    expect(formatFlops(4.91e6)).toBe("4.91 MFLOP");
    expect(formatError(3.14e-7)).toBe("3.1e-7");
    expect(formatError(0.175)).toBe("0.175");
    expect(formatRate(0.0156)).toBe("15.6 GFLOP/s");
    expect(formatRate(412.3)).toBe("412 TFLOP/s");
  });

  it("share a unit that keeps the largest rate between 1 and 1000", () => {
    for (const tflops of [3e-6, 0.0004, 0.02, 0.9, 1, 700]) {
      const { perTflop } = rateUnit(tflops);
      expect(tflops * perTflop).toBeGreaterThanOrEqual(1);
      expect(tflops * perTflop).toBeLessThan(1000);
    }
  });

  it("tell an age from a time", () => {
    const now = Date.parse("2026-01-02T00:00:00Z");
    expect(formatAge("2026-01-01T23:59:50Z", now)).toBe("just now");
    expect(formatAge("2026-01-01T23:56:00Z", now)).toBe("4 min ago");
    expect(formatAge("2026-01-01T20:00:00Z", now)).toBe("4 h ago");
    expect(formatAge("2025-12-21T00:00:00Z", now)).toBe("12 d ago");
  });
});

describe("trapezoids", () => {
  const run = { q_start: 0, q_stop: 512, lo_slope: 0, lo_offset: 0, hi_slope: 1, hi_offset: 1, pairs: 0 };

  it("read as formulas", () => {
    expect(runText(run)).toBe("rows [0, 512): keys [0, q + 1)");
    expect(runText({ ...run, q_stop: 1, hi_slope: 0 })).toBe("rows [0, 1): keys [0, 1)");
    expect([affine(1, 0), affine(1, -63), affine(0, -2), affine(-1, 9), affine(2, 3), affine(-3, -1)]).toEqual([
      "q",
      "q − 63",
      "−2",
      "−q + 9",
      "2q + 3",
      "−3q − 1",
    ]);
  });
});

describe("intervals", () => {
  const intervals = [
    [0, 64],
    [512, 813],
  ] as const;

  it("are half open", () => {
    expect([63, 64, 511, 512, 812, 813].map((index) => contains(intervals, index))).toEqual([
      true,
      false,
      false,
      true,
      true,
      false,
    ]);
    expect(totalLength(intervals)).toBe(365);
    expect(intervalsText(intervals, 5)).toBe("[0, 64) [512, 813)");
    expect(intervalsText(intervals, 1)).toBe("[0, 64) and 1 more");
    expect(intervalsText([], 1)).toBe("no key");
  });
});

describe("documentation", () => {
  it("is cut into paragraphs and code, and keeps products", () => {
    const blocks = docBlocks("Keys within `r`:\ndy*dy + dx*dx. *Really*.\n\n```\nS sees S\n```");
    expect(blocks.map((block) => block.kind)).toEqual(["text", "code"]);
    const [text, code] = blocks;
    expect(text?.kind === "text" && text.pieces.map((piece) => piece.text).join("")).toBe(
      "Keys within r: dy*dy + dx*dx. Really.",
    );
    expect(code?.kind === "code" && code.text).toBe("S sees S");
  });

  it("gives its first sentence for cards", () => {
    expect(firstSentence("One token\nsees `k`. Another.")).toBe("One token sees k.");
    expect(firstSentence("Ends with keys: then more")).toBe("Ends with keys.");
  });

  it("never reaches Plotly as markup", () => {
    expect(plotText('<a href="x">&</a>')).toBe('&lt;a href="x"&gt;&amp;&lt;/a&gt;');
  });
});

describe("changes against a baseline", () => {
  it("are named only when they are significant", () => {
    expect(changeOf({ ratio: 2, significant: true }).text).toBe("▲ 2.00× faster");
    expect(changeOf({ ratio: 0.5, significant: true }).text).toBe("▼ 2.00× slower");
    expect(changeOf({ ratio: 1.02, significant: false }).kind).toBe("same");
    expect(changeOf({ ratio: null, significant: null }).kind).toBe("none");
  });
});

describe("numbers beside each other", () => {
  it("name a unit once where both ends have it", () => {
    expect(formatMsRange(0.58, 0.83)).toBe("0.580 – 0.830 ms");
    expect(formatMsRange(0.05, 0.83)).toBe("50.0 µs – 0.830 ms");
    expect(formatMsRange(900, 1200)).toBe("900 ms – 1.20 s");
  });

  it("never say none or all of what is not", () => {
    expect(formatPercent(0)).toBe("0.0 %");
    expect(formatPercent(1)).toBe("100.0 %");
    expect(formatPercent(1e-6)).toBe("< 0.1 %");
    expect(formatPercent(1 - 1e-6)).toBe("> 99.9 %");
    expect(formatPercent(0.9999, 0)).toBe("> 99 %");
    expect(formatPercent(0.123)).toBe("12.3 %");
  });

  it("group their digits", () => {
    expect(sizeText({ q_len: 1024, kv_len: 1024 })).toBe("1,024");
    expect(sizeText({ q_len: 16, kv_len: 32768 })).toBe("16 × 32,768");
  });
});

describe("what should be read with care", () => {
  it("is told once, though both the samples and the provider say it", () => {
    const settled = "times had not settled when the warm-up ended";
    const flags = ["unsettled: times still changed when the warm-up ended"];
    expect(cautions({ flags, remarks: [settled, "something else"] })).toEqual([...flags, "something else"]);
    expect(cautions({ flags: [], remarks: [settled] })).toEqual([settled]);
  });
});

describe("labels beside a picture", () => {
  it("stand in lanes, so that none covers another", () => {
    expect(labelLanes([], 10)).toEqual([]);
    expect(labelLanes([50, 10, 90], 20)).toEqual([0, 0, 0]);
    expect(labelLanes([12, 10, 14, 40], 20)).toEqual([1, 0, 2, 0]);
  });
});
