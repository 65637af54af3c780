import { describe, expect, it } from "vitest";
import type { ComparedRun, Comparison } from "../src/api/types";
import { shownComparison } from "../src/domain/comparison";

const compared = (id: number, ratio: number) => ({ run: { id }, ratio, significant: true }) as ComparedRun;
const LAST: Comparison = {
  baseline_id: 1,
  runs: [compared(1, 1), compared(2, 2), compared(3, 0.5)],
  fields: [
    { field: "seed", group: "case", values: ["0", "1", "0"], differs: true },
    { field: "dtype", group: "case", values: ["float32", "float32", "bfloat16"], differs: true },
  ],
  warnings: ["Different seeds."],
};

describe("the comparison that is shown", () => {
  it("is the server's when it answers what is asked", () => {
    expect(shownComparison(LAST, [1, 2, 3], null)).toBe(LAST);
    expect(shownComparison(LAST, [1, 2, 3], 1)).toBe(LAST);
  });

  it("has the baseline that was chosen at once, and no ratios to the one before", () => {
    const shown = shownComparison(LAST, [1, 2, 3], 2);
    expect(shown.baseline_id).toBe(2);
    expect(shown.runs.map(({ run, ratio }) => [run.id, ratio])).toEqual([
      [1, null],
      [2, null],
      [3, null],
    ]);
    expect(shown.warnings).toEqual([]);
  });

  it("lets a run go at once, with its column of the conditions", () => {
    const shown = shownComparison(LAST, [1, 3], null);
    expect(shown.runs.map(({ run, ratio }) => [run.id, ratio])).toEqual([
      [1, 1],
      [3, 0.5],
    ]);
    expect(shown.fields).toEqual([
      { field: "seed", group: "case", values: ["0", "0"], differs: false },
      { field: "dtype", group: "case", values: ["float32", "bfloat16"], differs: true },
    ]);
  });
});
