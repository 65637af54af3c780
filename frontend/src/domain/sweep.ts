/** What varies in a launch: as the form has it, as the server takes it, and back. */

import type { Direction, Dtype, LaunchCreate, Sweep, Value, Values } from "../api/types";
import { DIRECTIONS, DTYPES } from "./generated/names";
import { parseSteps, stepsText } from "./steps";
import { type Parsed, parseJsonValue } from "./valueText";

/** Something that varies. `name` is a parameter of the mask, or one of SHAPE_AXES. */
export interface Axis {
  id: number;
  name: string;
  text: string;
}

/** Axes that are no parameter; the star keeps them apart from parameters of the same name. */
export const SHAPE_AXES = ["*head_dim", "*batch", "*dtype", "*direction"] as const;
export type ShapeAxis = (typeof SHAPE_AXES)[number];

export const NO_SWEEP: Sweep = { values: {}, together: false, batches: [], head_dims: [], dtypes: [], directions: [] };

export function axisLabel(name: string): string {
  return name.replace(/^\*/, "");
}

/** The names that a mask's numbers and the shape can vary in. */
export function axisNames(values: Values): string[] {
  return [...Object.keys(values), ...SHAPE_AXES];
}

/** What a new axis begins with. */
export function firstText(name: string, values: Values): string {
  switch (name) {
    case "*head_dim":
      return "64, 128";
    case "*batch":
      return "1, 2, 4";
    case "*dtype":
      return DTYPES.join(", ");
    case "*direction":
      return DIRECTIONS.slice(0, 2).join(", ");
    default: {
      const value = values[name];
      if (typeof value === "number")
        return value >= 64 ? `${value}, ${value * 2}, ${value * 4}` : `${value}, ${value + 1}`;
      return typeof value === "boolean" ? "true, false" : `${JSON.stringify(value ?? [])}`;
    }
  }
}

/** The server's form of the axes, or what is wrong with one of them, by its id. */
export function sweepOf(
  axes: readonly Axis[],
  together: boolean,
  values: Values,
): { sweep: Sweep | null; problems: ReadonlyMap<number, string> } {
  const sweep: Sweep = { ...NO_SWEEP, values: {}, together };
  const problems = new Map<number, string>();
  for (const axis of axes) {
    const read = readAxis(axis, values);
    if (!read.ok) problems.set(axis.id, read.message);
    else if (axis.name === "*head_dim") sweep.head_dims = read.value as number[];
    else if (axis.name === "*batch") sweep.batches = read.value as number[];
    else if (axis.name === "*dtype") sweep.dtypes = read.value as Dtype[];
    else if (axis.name === "*direction") sweep.directions = read.value as Direction[];
    else sweep.values[axis.name] = read.value as Value[];
  }
  const lengths = new Set(Object.values(sweep.values).map((steps) => steps.length));
  const last = axes.findLast((axis) => !axis.name.startsWith("*"));
  if (together && lengths.size > 1 && last && problems.size === 0)
    problems.set(last.id, "needs as many values as the other parameters, since they go together");
  return { sweep: problems.size === 0 ? sweep : null, problems };
}

/** The axes of a sweep that was sent before. */
export function axesOf({ sweep }: Pick<LaunchCreate, "sweep">): Axis[] {
  const lists: [string, readonly unknown[]][] = [
    ...Object.entries(sweep.values),
    ["*head_dim", sweep.head_dims],
    ["*batch", sweep.batches],
    ["*dtype", sweep.dtypes],
    ["*direction", sweep.directions],
  ];
  return lists
    .filter(([, steps]) => steps.length > 0)
    .map(([name, steps], id) => ({ id, name, text: stepsText(steps) }));
}

function readAxis({ name, text }: Axis, values: Values): Parsed<readonly unknown[]> {
  switch (name) {
    case "*head_dim":
      return parseSteps(text, { minimum: 8, maximum: 256 });
    case "*batch":
      return parseSteps(text, { minimum: 1, maximum: 64 });
    case "*dtype":
      return parseNames(text, DTYPES);
    case "*direction":
      return parseNames(text, DIRECTIONS);
    default: {
      const value = values[name];
      if (typeof value === "number" || value === undefined) return parseSteps(text);
      if (typeof value === "boolean") {
        const read = parseNames(text, ["true", "false"] as const);
        return read.ok ? { ok: true, value: read.value.map((word) => word === "true") } : read;
      }
      return parseLists(text);
    }
  }
}

function parseNames<T extends string>(text: string, allowed: readonly T[]): Parsed<T[]> {
  const words = text.split(/[,;\s]+/).filter(Boolean);
  const found = words.map((word) => allowed.find((name) => name === word));
  const wrong = found.indexOf(undefined);
  if (wrong >= 0) return { ok: false, message: `“${words[wrong]}” is none of ${allowed.join(", ")}` };
  if (words.length === 0) return { ok: false, message: `has no value yet: choose from ${allowed.join(", ")}` };
  return { ok: true, value: [...new Set(found.filter((name) => name !== undefined))] };
}

/** Lists behind each other: "[64, 32], [128]". */
function parseLists(text: string): Parsed<Value[]> {
  const items: unknown = safeJson(`[${text}]`);
  if (!Array.isArray(items) || items.length === 0 || !items.every(Array.isArray))
    return { ok: false, message: "is written as lists behind each other, such as [64, 32], [128]" };
  const read = items.map((item) => parseJsonValue(JSON.stringify(item)));
  const wrong = read.find((item) => !item.ok);
  if (wrong && !wrong.ok) return wrong;
  return { ok: true, value: read.flatMap((item) => (item.ok ? [item.value] : [])) };
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
