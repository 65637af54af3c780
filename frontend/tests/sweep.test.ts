import { describe, expect, it } from "vitest";
import { parseSteps } from "../src/domain/steps";
import { axesOf, firstText, NO_SWEEP, SHAPE_AXES, sweepOf } from "../src/domain/sweep";

const steps = (text: string) => {
  const read = parseSteps(text);
  return read.ok ? read.value : read.message;
};

describe("steps", () => {
  it("are numbers, sizes and ranges, each once", () => {
    expect(steps("1024, 2K, 4k, 1K")).toEqual([1024, 2048, 4096]);
    expect(steps("1K..8K")).toEqual([1024, 2048, 4096, 8192]);
    expect(steps("8..32 +8")).toEqual([8, 16, 24, 32]);
    expect(steps("1..27 x3, 27; 1M")).toEqual([1, 3, 9, 27, 1048576]);
    expect(steps("-2")).toEqual([-2]);
  });

  it("that cannot be read are said in words", () => {
    expect(steps("")).toMatch(/no value yet/);
    expect(steps("12, four")).toMatch(/“four” is neither/);
    expect(steps("1.5")).toMatch(/neither/);
    for (const endless of ["0..8", "8..4", "8..64 x1", "8..64 +0"]) expect(steps(endless)).toMatch(/never reaches/);
    expect(steps("1..1000 +1")).toMatch(/more than 64/);
    expect(parseSteps("300", { minimum: 8, maximum: 256 })).toEqual({ ok: false, message: "300 is not in 8..256" });
  });
});

describe("a sweep", () => {
  const values = { n: 64, flag: true, lengths: [3, 4] };

  it("comes back from what was sent as it was written", () => {
    const axes = [
      { id: 0, name: "n", text: "64, 128" },
      { id: 1, name: "flag", text: "true, false" },
      { id: 2, name: "lengths", text: "[3, 4], [5]" },
      { id: 3, name: "*head_dim", text: "64, 128" },
      { id: 4, name: "*batch", text: "1, 2" },
      { id: 5, name: "*dtype", text: "float32, bfloat16" },
      { id: 6, name: "*direction", text: "forward, forward+backward" },
    ];
    const { sweep, problems } = sweepOf(axes, false, values);
    expect(problems.size).toBe(0);
    expect(sweep).toEqual({
      values: {
        n: [64, 128],
        flag: [true, false],
        lengths: [[3, 4], [5]],
      },
      together: false,
      head_dims: [64, 128],
      batches: [1, 2],
      dtypes: ["float32", "bfloat16"],
      directions: ["forward", "forward+backward"],
    });
    if (!sweep) throw new Error("no sweep");
    expect(sweepOf(axesOf({ sweep }), false, values).sweep).toEqual(sweep);
  });

  it("begins with a text that can be read, whatever varies", () => {
    for (const name of [...Object.keys(values), ...SHAPE_AXES]) {
      const { problems } = sweepOf([{ id: 0, name, text: firstText(name, values) }], false, values);
      expect([...problems.values()], name).toEqual([]);
    }
    expect(sweepOf([], false, values).sweep).toEqual(NO_SWEEP);
  });

  it("says at the axis what is wrong with it", () => {
    const { sweep, problems } = sweepOf(
      [
        { id: 4, name: "*dtype", text: "float64" },
        { id: 9, name: "lengths", text: "3, 4" },
      ],
      false,
      values,
    );
    expect(sweep).toBeNull();
    expect(problems.get(4)).toMatch(/“float64” is none of/);
    expect(problems.get(9)).toMatch(/lists behind each other/);
  });

  it("that goes together needs lists of one length", () => {
    const axes = [
      { id: 0, name: "n", text: "64, 128" },
      { id: 1, name: "m", text: "1, 2, 3" },
    ];
    expect(sweepOf(axes, false, { n: 1, m: 1 }).problems.size).toBe(0);
    expect(sweepOf(axes, true, { n: 1, m: 1 }).problems.get(1)).toMatch(/as many values/);
  });
});
