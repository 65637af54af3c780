/** Random numbers from a seed: the same list on every machine, so that a mask with them can be told by four numbers. */

export interface LengthsRecipe {
  count: number;
  minimum: number;
  maximum: number;
  /** What the numbers add up to; null when that does not matter. */
  total: number | null;
  /** Even: every number from minimum to maximum equally often. Skewed: many short ones and a few long ones. */
  spread: "even" | "skewed";
  seed: number;
}

export type Drawn = { ok: true; values: number[] } | { ok: false; message: string };

const MAX_COUNT = 99_999;

/** Uniform numbers in [0, 1) by the splitmix32 generator (a 32-bit form of Steele, Lea and Flood, OOPSLA 2014). */
export function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    mixed ^= mixed >>> 15;
    return (mixed >>> 0) / 2 ** 32;
  };
}

/** The list of a recipe, or why there is none. */
export function drawLengths(recipe: LengthsRecipe): Drawn {
  const { count, minimum, maximum, total, spread, seed } = recipe;
  if (count < 1 || count > MAX_COUNT) return { ok: false, message: "How many: from 1 to 99,999." };
  if (minimum > maximum) return { ok: false, message: "The smallest is larger than the largest." };
  if (total !== null && (total < count * minimum || total > count * maximum)) {
    const range = `${(count * minimum).toLocaleString("en-US")} to ${(count * maximum).toLocaleString("en-US")}`;
    return { ok: false, message: `${count} numbers from ${minimum} to ${maximum} add up to ${range}.` };
  }
  const next = uniform(seed);
  const values = Array.from({ length: count }, () =>
    between(minimum, maximum, spread === "even" ? next() : next() ** 3),
  );
  return { ok: true, values: total === null ? values : summedTo(values, total, minimum, maximum) };
}

function between(minimum: number, maximum: number, share: number): number {
  return Math.min(maximum, minimum + Math.floor(share * (maximum - minimum + 1)));
}

/**
 * The nearest list with this sum: all numbers are moved towards the bound on the side of the sum by the same share of
 * their room, and what rounding leaves is given to the first ones that have room.
 */
function summedTo(values: readonly number[], total: number, minimum: number, maximum: number): number[] {
  const sum = values.reduce((before, value) => before + value, 0);
  const bound = total > sum ? maximum : minimum;
  const room = values.reduce((before, value) => before + Math.abs(bound - value), 0);
  const share = room === 0 ? 0 : Math.abs(total - sum) / room;
  const moved = values.map((value) => value + Math.trunc((bound - value) * share));
  let left = total - moved.reduce((before, value) => before + value, 0);
  const step = Math.sign(left);
  for (let at = 0; left !== 0; at = (at + 1) % moved.length) {
    const value = (moved[at] ?? 0) + step;
    if (value < minimum || value > maximum) continue;
    moved[at] = value;
    left -= step;
  }
  return moved;
}
