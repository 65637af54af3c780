/** The values that something takes in a sweep, as they are written: "1024, 2K, 4K..32K". */

import type { Parsed } from "./valueText";

const MOST = 64;
const SIZE = /^(-?\d{1,12})([kKmM]?)$/;
const RANGE = /^(\S+?)\.\.(\S+?)(?:\s*(?:([x×*])|(\+))\s*(\S+))?$/;

/** Whole numbers, with K for 1024 and M for 1024 * 1024; "1K..32K" doubles, "8..64 +8" adds, "1..27 x3" multiplies. */
export function parseSteps(
  text: string,
  { minimum, maximum }: { minimum?: number; maximum?: number } = {},
): Parsed<number[]> {
  const values: number[] = [];
  for (const part of text.split(/[,;\n]/).map((piece) => piece.trim())) {
    if (part === "") continue;
    const read = SIZE.test(part) ? { ok: true as const, value: [sizeOf(part) ?? 0] } : rangeOf(part);
    if (!read.ok) return read;
    values.push(...read.value);
    if (values.length > MOST) return { ok: false, message: `has more than ${MOST} values` };
  }
  if (values.length === 0) return { ok: false, message: "has no value yet: write some, such as 1K, 2K, 4K or 1K..32K" };
  const outside = values.find((value) => value < (minimum ?? -Infinity) || value > (maximum ?? Infinity));
  if (outside !== undefined) return { ok: false, message: `${outside} is not in ${minimum ?? ""}..${maximum ?? ""}` };
  return { ok: true, value: [...new Set(values)] };
}

export function stepsText(values: readonly unknown[]): string {
  return values.map((value) => (typeof value === "object" ? JSON.stringify(value) : String(value))).join(", ");
}

function sizeOf(text: string): number | null {
  const parts = text.match(SIZE);
  if (!parts) return null;
  const factor = { k: 1024, m: 1024 * 1024 }[(parts[2] ?? "").toLowerCase()] ?? 1;
  return Number(parts[1]) * factor;
}

function rangeOf(part: string): Parsed<number[]> {
  const pieces = part.match(RANGE);
  const start = pieces && sizeOf(pieces[1] ?? "");
  const stop = pieces && sizeOf(pieces[2] ?? "");
  const by = pieces?.[5] === undefined ? 2 : sizeOf(pieces[5]);
  if (start === null || stop === null || by === null || !pieces)
    return { ok: false, message: `“${part}” is neither a whole number nor a range such as 1K..32K or 8..64 +8` };
  const adds = pieces[4] !== undefined;
  if (stop < start || (adds ? by < 1 : by < 2 || start < 1))
    return { ok: false, message: `“${part}” never reaches its end` };
  const values: number[] = [];
  for (let value = start; value <= stop && values.length <= MOST; value = adds ? value + by : value * by)
    values.push(value);
  return { ok: true, value: values };
}
