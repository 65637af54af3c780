/** Numbers out of a file: JSON lists, or lines of CSV. */

import type { Value } from "../api/types";
import { isValue, type Kind } from "./values";
import type { Parsed } from "./valueText";

/** Of a file that is read at all. */
export const MAX_FILE_BYTES = 4_000_000;

/** What a file gives for a parameter of this kind. `depth` of the kind counts the brackets of the list wanted: 1 or 2. */
export function readTable(text: string, { bool, depth }: Kind): Parsed<Value> {
  const trimmed = text.replace(/^\uFEFF/, "").trim();
  if (trimmed === "") return { ok: false, message: "the file is empty" };
  const read = trimmed.startsWith("[") ? fromJson(trimmed) : fromLines(trimmed);
  if (!read.ok) return read;
  const rows = read.value;
  for (const [at, row] of rows.entries()) {
    const wrong = row.find((item) => (bool ? toBool(item) === null : toInteger(item) === null));
    if (wrong !== undefined)
      return {
        ok: false,
        message: `row ${at + 1}: “${String(wrong)}” is ${bool ? "neither true nor false" : "not a whole number"}`,
      };
  }
  const table = rows.map((row) => row.map((item) => (bool ? toBool(item) : toInteger(item))));
  const value: unknown = depth === 2 ? table : flat(table);
  if (value === null)
    return { ok: false, message: `the file has ${rows.length} rows with several numbers each, and one list is wanted` };
  if (!isValue(value)) return { ok: false, message: "the file holds no list of whole numbers or bools" };
  return { ok: true, value };
}

type Item = string | number | boolean;

function fromJson(text: string): Parsed<Item[][]> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return { ok: false, message: "the file begins like JSON and is none" };
  }
  if (!Array.isArray(data)) return { ok: false, message: "the file is no list" };
  const rows: unknown[] = data.every(Array.isArray) && data.length > 0 ? data : [data];
  const plain = rows.every(
    (row) => Array.isArray(row) && row.every((item) => ["number", "boolean"].includes(typeof item)),
  );
  if (!plain) return { ok: false, message: "the file is no list of numbers or bools, nor a list of such lists" };
  return { ok: true, value: rows as Item[][] };
}

/** A first line that has no number of any kind in it is a heading; lines that begin with # are remarks. */
function fromLines(text: string): Parsed<Item[][]> {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  const cells = lines.map((line) =>
    line
      .split(/[,;\t]|\s+/)
      .map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"))
      .filter((cell) => cell !== ""),
  );
  const [first] = cells;
  const heading = first?.every((cell) => Number.isNaN(Number(cell)) && toBool(cell) === null) ?? false;
  const rows = heading && cells.length > 1 ? cells.slice(1) : cells;
  return rows.length === 0 ? { ok: false, message: "the file has no line with numbers" } : { ok: true, value: rows };
}

function flat<T>(table: T[][]): T[] | null {
  if (table.length === 1) return table[0] ?? [];
  return table.every((row) => row.length === 1) ? table.flat() : null;
}

function toInteger(item: Item): number | null {
  if (typeof item === "string")
    return /^[+-]?\d+$/.test(item) && Number.isSafeInteger(Number(item)) ? Number(item) : null;
  return typeof item === "number" && Number.isSafeInteger(item) ? item : null;
}

function toBool(item: Item): boolean | null {
  if (typeof item === "boolean") return item;
  const word = String(item).toLowerCase();
  if (word === "true" || word === "1") return true;
  return word === "false" || word === "0" ? false : null;
}
