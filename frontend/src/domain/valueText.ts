/** Values as the fields of the form write them: numbers, lists with commas, and lists of lists with a line for each. */

import type { Parameter, Value } from "../api/types";
import { formatInt, plural } from "./format";
import { depthOf, isValue, type Kind } from "./values";

export type Parsed<T> = { ok: true; value: T } | { ok: false; message: string };

export type Range = Pick<Parameter, "minimum" | "maximum">;

const LIMIT = 2 ** 53 - 1;
/** What the server takes, so that a slip in a repetition does not fill the memory. */
const MAX_ENTRIES = 99_999;
const NO_RANGE: Range = { minimum: null, maximum: null };

export function parseInteger(text: string, range: Range = NO_RANGE): Parsed<number> {
  const plain = text.trim().replace(/[_,](?=\d{3}\b)/g, "");
  if (plain === "") return { ok: false, message: "needs a whole number" };
  if (!/^[+-]?\d+$/.test(plain)) return { ok: false, message: `“${text.trim()}” is not a whole number` };
  const value = Number(plain);
  if (Math.abs(value) > LIMIT) return { ok: false, message: "is too large" };
  const { minimum, maximum } = range;
  if (minimum !== null && value < minimum) return { ok: false, message: `must be at least ${formatInt(minimum)}` };
  if (maximum !== null && value > maximum) return { ok: false, message: `must be at most ${formatInt(maximum)}` };
  return { ok: true, value };
}

export function parseBool(text: string): Parsed<boolean> {
  const word = text.trim().toLowerCase();
  if (word === "true" || word === "1") return { ok: true, value: true };
  if (word === "false" || word === "0") return { ok: true, value: false };
  return { ok: false, message: `“${text.trim()}” is neither true nor false (or 1, 0)` };
}

/** "128, 64, 256" or "128 64 256"; "4 x 128" repeats 128 four times. */
export function parseList<T>(text: string, read: (word: string) => Parsed<T>): Parsed<T[]> {
  const list: T[] = [];
  const words = text
    .replace(/(\d+)\s*[x×*]\s*([+-]?\w+)/gi, "$1x$2")
    .split(/[\s,;]+/)
    .filter((word) => word !== "");
  for (const word of words) {
    const repeated = word.match(/^(\d+)x(.+)$/i);
    const count = repeated ? Number(repeated[1]) : 1;
    const item = read(repeated ? String(repeated[2]) : word);
    if (!item.ok) return item;
    if (list.length + count > MAX_ENTRIES) return { ok: false, message: "has more than 99,999 entries" };
    for (let i = 0; i < count; i++) list.push(item.value);
  }
  return { ok: true, value: list };
}

/** One list a line; "[]" is an empty one, and blank lines are none. */
function parseLines<T>(text: string, read: (word: string) => Parsed<T>): Parsed<T[][]> {
  const rows: T[][] = [];
  let entries = 0;
  for (const [number, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const inside = line.trim().match(/^\[(.*)\],?$/)?.[1] ?? line;
    const row = parseList(inside, read);
    if (!row.ok) return { ok: false, message: `line ${number + 1}: ${row.message}` };
    rows.push(row.value);
    entries += row.value.length + 1;
    if (entries > MAX_ENTRIES) return { ok: false, message: "has more than 99,999 entries" };
  }
  return { ok: true, value: rows };
}

/** What a field for a list, or for values per item or head, holds. */
export function parseValue(text: string, { bool, depth }: Kind, parameter: Omit<Parameter, "type">): Parsed<Value> {
  if (bool) return shaped(text, depth, parameter.per, parseBool) as Parsed<Value>;
  return shaped(text, depth, parameter.per, (word) => parseInteger(word, parameter)) as Parsed<Value>;
}

function shaped<T>(
  text: string,
  depth: Kind["depth"],
  per: Parameter["per"],
  read: (word: string) => Parsed<T>,
): Parsed<T | T[] | T[][]> {
  const lines = hasLines(depth, per);
  const parsed: Parsed<T[] | T[][]> = lines ? parseLines(text, read) : parseList(text, read);
  if (!parsed.ok || per === null) return parsed;
  const [only] = parsed.value;
  if (only !== undefined && parsed.value.length === 1) return { ok: true, value: only };
  if (only === undefined && !lines) return { ok: false, message: `needs a value, or one for each ${per}` };
  return parsed;
}

/** Whether the field of a parameter has a line for each list. */
export function hasLines(depth: Kind["depth"], per: Parameter["per"]): boolean {
  return depth === 2 || (depth === 1 && per !== null);
}

/** The text from which `parseValue` reads the same value. */
export function fieldText(value: Value): string {
  if (!Array.isArray(value)) return String(value);
  if (depthOf(value) < 2) return value.join(", ");
  return value.map((row) => (Array.isArray(row) && row.length > 0 ? row.join(", ") : "[]")).join("\n");
}

export function parseJsonValue(text: string): Parsed<Value> {
  try {
    const data: unknown = JSON.parse(text);
    if (isValue(data)) return { ok: true, value: data };
  } catch {
    return { ok: false, message: "is not JSON" };
  }
  return { ok: false, message: "must be a whole number, true or false, a list of either, or a list of such lists" };
}

/** "1 to 4,096", "1 or more", "8 or less", or nothing. */
export function rangeText({ minimum, maximum }: Range): string | null {
  if (minimum !== null && maximum !== null) return `${formatInt(minimum)} to ${formatInt(maximum)}`;
  if (minimum !== null) return `${formatInt(minimum)} or more`;
  return maximum === null ? null : `${formatInt(maximum)} or less`;
}

/** "3 entries, sum 12", "2 rows, 5 entries", "a value for each of 3 items": what a field holds. */
export function describeValue(value: Value, { bool, depth }: Kind, per: Parameter["per"]): string {
  if (per !== null) {
    const differ = Array.isArray(value) && depthOf(value) > depth;
    return differ ? `one for each of ${plural(value.length, per)}` : `the same for all ${per}s`;
  }
  const items: (number | boolean)[] = [value].flat(2) as (number | boolean)[];
  const entries = plural(items.length, "entry", "entries");
  if (depth === 2) return `${plural(Array.isArray(value) ? value.length : 0, "row")}, ${entries}`;
  if (bool) return `${entries}, ${formatInt(items.filter((item) => item === true).length)} true`;
  return `${entries}, sum ${formatInt(items.reduce<number>((sum, item) => sum + Number(item), 0))}`;
}
