import { describe, expect, it } from "vitest";
import type { Parameter, Value } from "../src/api/types";
import { formatValue, isValue, keepKnown, kindOf, sameValues, stepFor, summarize } from "../src/domain/values";
import {
  describeValue,
  fieldText,
  parseBool,
  parseInteger,
  parseJsonValue,
  parseList,
  parseValue,
  rangeText,
} from "../src/domain/valueText";

function parameter(type: string, more: Partial<Parameter> = {}): Parameter {
  const plain = { name: "p", default: null, doc: "", minimum: null, maximum: null, per: null };
  return { ...plain, type: type as Parameter["type"], ...more };
}

function read(text: string, type: string, more: Partial<Parameter> = {}) {
  const kind = kindOf(type);
  if (!kind) throw new Error(type);
  return parseValue(text, kind, parameter(type, more));
}

describe("values", () => {
  it("are read from what people type", () => {
    expect(parseInteger(" 32,768 ")).toEqual({ ok: true, value: 32768 });
    expect(parseInteger("-4")).toEqual({ ok: true, value: -4 });
    for (const text of ["", "1.5", "abc", "1e3", "99999999999999999999"]) expect(parseInteger(text).ok).toBe(false);
    expect(read("128, 64 256;  2 x 8", "int[]")).toEqual({ ok: true, value: [128, 64, 256, 8, 8] });
    expect(read("", "int[]")).toEqual({ ok: true, value: [] });
    expect(read("12, x", "int[]").ok).toBe(false);
    expect(read("100001 x 1", "int[]").ok).toBe(false);
    expect(read("true 0 False, 1; 2 x true", "bool[]")).toEqual({
      ok: true,
      value: [true, false, false, true, true, true],
    });
    expect(read("2", "bool[]")).toMatchObject({ ok: false });
    expect(parseList("2 x 1", parseBool)).toEqual({ ok: true, value: [true, true] });
  });

  it("of tables have a list a line", () => {
    expect(read("3, 4\n\n [5] \n[]\n", "int[][]")).toEqual({ ok: true, value: [[3, 4], [5], []] });
    expect(read("1 0\ntrue", "bool[][]")).toEqual({ ok: true, value: [[true, false], [true]] });
    expect(read("3\n4, x", "int[][]")).toEqual({ ok: false, message: "line 2: “x” is not a whole number" });
    expect(read("", "int[][]")).toEqual({ ok: true, value: [] });
  });

  it("stay in the range of their parameter, every number of a list as well", () => {
    const range = { minimum: 1, maximum: 4096 };
    expect(parseInteger("4096", range)).toEqual({ ok: true, value: 4096 });
    expect(parseInteger("4097", range)).toEqual({ ok: false, message: "must be at most 4,096" });
    expect(read("3, 0", "int[]", range)).toEqual({ ok: false, message: "must be at least 1" });
    expect(read("3\n9999", "int[][]", range)).toEqual({ ok: false, message: "line 2: must be at most 4,096" });
    expect([range, { minimum: 0, maximum: null }, { minimum: null, maximum: -1 }].map(rangeText)).toEqual([
      "1 to 4,096",
      "0 or more",
      "-1 or less",
    ]);
    expect(rangeText({ minimum: null, maximum: null })).toBeNull();
  });

  it("per item or head are one for all, or one for each", () => {
    expect(read("4", "int", { per: "item" })).toEqual({ ok: true, value: 4 });
    expect(read("4, 2", "int", { per: "head" })).toEqual({ ok: true, value: [4, 2] });
    expect(read("", "int", { per: "head" })).toEqual({ ok: false, message: "needs a value, or one for each head" });
    expect(read("1", "bool", { per: "item" })).toEqual({ ok: true, value: true });
    expect(read("1, 2", "int[]", { per: "item" })).toEqual({ ok: true, value: [1, 2] });
    expect(read("1, 2\n3", "int[]", { per: "item" })).toEqual({ ok: true, value: [[1, 2], [3]] });
  });

  it("are written so that they are read again", () => {
    const cases: [Value, string, Partial<Parameter>][] = [
      [[3, 4], "int[]", {}],
      [[true, false], "bool[]", {}],
      [[[3, 4], [], [5]], "int[][]", {}],
      [[[true], [false, true]], "bool[][]", {}],
      [[4, 5], "int", { per: "item" }],
      [7, "int", { per: "item" }],
      [[[1], [2, 3]], "int[]", { per: "head" }],
    ];
    for (const [value, type, more] of cases) expect(read(fieldText(value), type, more)).toEqual({ ok: true, value });
  });

  it("are described beside their field", () => {
    const told = (value: Value, type: string, per: Parameter["per"] = null) => {
      const kind = kindOf(type);
      return kind && describeValue(value, kind, per);
    };
    expect(told([3, 4], "int[]")).toBe("2 entries, sum 7");
    expect(told([true, false], "bool[]")).toBe("2 entries, 1 true");
    expect(told([[3, 4], [5]], "int[][]")).toBe("2 rows, 3 entries");
    expect(told([[3, 4], [5]], "int[]", "item")).toBe("one for each of 2 items");
    expect(told(4, "int", "head")).toBe("the same for all heads");
  });

  it("of unknown types are JSON of a shape that the server takes", () => {
    expect(kindOf("float")).toBeNull();
    expect(kindOf("int[][][]")).toBeNull();
    expect(parseJsonValue("[[1, 2], []]")).toEqual({ ok: true, value: [[1, 2], []] });
    for (const text of ["", "{", "1.5", "null", "[1, true]", "[[1], 2]", "[[[1]]]"])
      expect(parseJsonValue(text).ok).toBe(false);
    for (const data of [0, true, [], [[]], [[true], []]]) expect(isValue(data)).toBe(true);
  });

  it("are kept only for parameters of their type", () => {
    const parameters = [
      parameter("int", { name: "n" }),
      parameter("bool", { name: "on" }),
      parameter("int[]", { name: "list" }),
      parameter("int[][]", { name: "table" }),
      parameter("bool[]", { name: "bools" }),
      parameter("int", { name: "each", per: "item" }),
      parameter("float", { name: "other" }),
    ];
    const kept = { n: 3, list: [1], table: [[1], []], each: [1, 2], other: [4] };
    expect(keepKnown({ ...kept, on: 1, bools: [1], gone: 4 }, parameters)).toEqual(kept);
    expect(keepKnown({ n: [3], list: [[1]], table: [1], each: [[1]] }, parameters)).toEqual({});
    expect(keepKnown({ table: [], each: 4 }, parameters)).toEqual({ table: [], each: 4 });
  });

  it("compare and shorten", () => {
    expect(sameValues({ a: [1, 2], b: 3 }, { b: 3, a: [1, 2] })).toBe(true);
    expect(sameValues({ a: 1 }, { a: 1, b: 2 })).toBe(false);
    expect(sameValues({ a: [[1], [2, 3]] }, { a: [[1, 2], [3]] })).toBe(false);
    expect(summarize({ n: 4, list: [1, 2, 3, 4, 5, 6] })).toBe("n=4, list=[1, 2, 3, … 6]");
    expect(summarize({ table: [[1, 2], []] })).toBe("table=[[1, 2], []]");
    expect(formatValue([[1, 2], [3]])).toBe("[1, 2], [3]");
    expect([0, 7, 16, 100, 4096].map(stepFor)).toEqual([1, 1, 2, 8, 512]);
  });
});
