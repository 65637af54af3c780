// Programs that no preset has, opened as a link opens them.
import { deflateRawSync } from "node:zlib";
import { newPicture } from "./checks.mjs";

export const ASSERTING = `mask checked(c: int, h: int)
tokens { C: c; H: h }
C sees C
H sees C, H
assert H never sees C
assert every query sees a key
assert density < 0.5
example small(c = 40, h = 160)`;

export const FIELDS = `mask fields(prompts: int[], answers: int[][], window: int in 1..64 = 8, extra: int per item in 0.. = 0)
tokens { g[i] { P: prompts[i]; R[j]: answers[i][j] } }
g[i].P    sees g[i].P q - k < window + extra
g[i].R[j] sees g[i].P
g[i].R[j] sees g[i].R[j] causal
example small(prompts = [3, 3], answers = [[4, 6], [8]])`;

/** The link that holds a text. */
export function linkOf(base, source) {
  const bytes = deflateRawSync(JSON.stringify({ source, values: {} }));
  return `${base}/#p=${bytes.toString("base64url")}`;
}

/** Opens a text as a link does. */
export async function openText(page, base, source) {
  await page.goto(linkOf(base, source));
  await newPicture(page, null);
}
