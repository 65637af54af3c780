/** Parameter values: reading what was typed, and showing what is bound. */

import type { Parameter, Value, Values } from "../api/types";

export type Parsed<T> = { ok: true; value: T } | { ok: false; message: string };

const LIMIT = 2 ** 53 - 1;

export function parseInteger(text: string): Parsed<number> {
  const plain = text.trim().replace(/[_,](?=\d{3}\b)/g, "");
  if (plain === "") return { ok: false, message: "needs a whole number" };
  if (!/^[+-]?\d+$/.test(plain)) return { ok: false, message: `“${text.trim()}” is not a whole number` };
  const value = Number(plain);
  if (Math.abs(value) > LIMIT) return { ok: false, message: "is too large" };
  return { ok: true, value };
}

/** "128, 64, 256" or "128 64 256"; "4 x 128" repeats 128 four times. */
export function parseIntegerList(text: string): Parsed<number[]> {
  const list: number[] = [];
  const words = text
    .replace(/(\d+)\s*[x×*]\s*(\d+)/gi, "$1x$2")
    .split(/[\s,;]+/)
    .filter((word) => word !== "");
  for (const word of words) {
    const repeated = word.match(/^(\d+)x(\d+)$/i);
    const count = repeated ? Number(repeated[1]) : 1;
    const item = parseInteger(repeated ? String(repeated[2]) : word);
    if (!item.ok) return item;
    if (list.length + count > 100_000) return { ok: false, message: "has more than 100,000 entries" };
    for (let i = 0; i < count; i++) list.push(item.value);
  }
  return { ok: true, value: list };
}

export function formatValue(value: Value): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** "context=64, history=448, lengths=[128, 64, …]": one line for tables. */
export function summarize(values: Values): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${Array.isArray(value) ? shortList(value) : value}`)
    .join(", ");
}

function shortList(list: readonly number[]): string {
  return list.length > 4 ? `[${list.slice(0, 3).join(", ")}, … ${list.length}]` : `[${list.join(", ")}]`;
}

export function sameValues(a: Values, b: Values): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => String(a[name]) === String(b[name]));
}

/** The given values that the program still has a parameter of the same type for. */
export function keepKnown(values: Values, parameters: readonly Parameter[]): Values {
  const kept: Values = {};
  for (const parameter of parameters) {
    const value = values[parameter.name];
    if (value !== undefined && hasType(value, parameter.type)) kept[parameter.name] = value;
  }
  return kept;
}

function hasType(value: Value, type: Parameter["type"]): boolean {
  switch (type) {
    case "bool":
      return typeof value === "boolean";
    case "int":
      return typeof value === "number";
    case "int[]":
      return Array.isArray(value);
  }
}

/** Up and down steps that suit a size: 1 below 16, else a power of two near an eighth of it. */
export function stepFor(value: number): number {
  const size = Math.abs(value);
  return size < 16 ? 1 : 2 ** Math.floor(Math.log2(size / 8));
}
