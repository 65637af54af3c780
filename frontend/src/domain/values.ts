/** Parameter values: what they are, what is kept of them, and how tables show them. */

import type { Parameter, Value, Values } from "../api/types";

/** True for what the server takes as a value: a number, a bool, a list of either, or a list of such lists. */
export function isValue(data: unknown): data is Value {
  if (!Array.isArray(data)) return typeof data === "boolean" || Number.isSafeInteger(data);
  const rows: unknown[][] = data.length > 0 && data.every(Array.isArray) ? data : [data];
  const all = (test: (item: unknown) => boolean) => rows.every((row) => row.every(test));
  return all(Number.isSafeInteger) || all((item) => typeof item === "boolean");
}

export interface Kind {
  bool: boolean;
  /** Brackets behind the type: 0 for one value, 1 for a list, 2 for a list of lists. */
  depth: 0 | 1 | 2;
}

/** The parts of a type of the language; null for one that this page does not know. */
export function kindOf(type: string): Kind | null {
  const parts = type.match(/^(int|bool)((?:\[\]){0,2})$/);
  return parts ? { bool: parts[1] === "bool", depth: (String(parts[2]).length / 2) as Kind["depth"] } : null;
}

/** The given values that the program still has a parameter of the same type for. */
export function keepKnown(values: Values, parameters: readonly Parameter[]): Values {
  const kept: Values = {};
  for (const parameter of parameters) {
    const value = values[parameter.name];
    if (value !== undefined && fits(value, parameter)) kept[parameter.name] = value;
  }
  return kept;
}

function fits(value: Value, { type, per }: Parameter): boolean {
  const kind = kindOf(type);
  if (!kind) return isValue(value);
  const depth = depthOf(value);
  const items = [value].flat(2);
  const sameKind = items.every((item) => typeof item === (kind.bool ? "boolean" : "number"));
  // An empty list is one of no rows as well.
  const deepEnough = depth === kind.depth || (items.length === 0 && depth === 1 && kind.depth === 2);
  return sameKind && (deepEnough || (per !== null && depth === kind.depth + 1));
}

export function depthOf(value: Value): number {
  if (!Array.isArray(value)) return 0;
  return Array.isArray(value[0]) ? 2 : 1;
}

/** "3, 4" or "[3, 4], [5]": all of a value on one line. */
export function formatValue(value: Value): string {
  if (!Array.isArray(value)) return String(value);
  return value.map((item) => (Array.isArray(item) ? `[${item.join(", ")}]` : String(item))).join(", ");
}

/** "context=64, history=448, lengths=[128, 64, …]": one line for tables. */
export function summarize(values: Values): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${shortened(value)}`)
    .join(", ");
}

function shortened(value: Value | number | boolean): string {
  if (!Array.isArray(value)) return String(value);
  const items = value.slice(0, value.length > 4 ? 3 : 4).map(shortened);
  return value.length > 4 ? `[${items.join(", ")}, … ${value.length}]` : `[${items.join(", ")}]`;
}

export function sameValues(a: Values, b: Values): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length && names.every((name) => JSON.stringify(a[name]) === JSON.stringify(b[name]))
  );
}

/** Up and down steps that suit a size: 1 below 16, else a power of two near an eighth of it. */
export function stepFor(value: number): number {
  const size = Math.abs(value);
  return size < 16 ? 1 : 2 ** Math.floor(Math.log2(size / 8));
}
