import type { Mask } from "../../api/types";
import { formatInt, formatPercent } from "../../domain/format";
import type { Layer } from "../../domain/maskQuery";
import { place } from "../../domain/regions";
import type { Cell, KernelBlocks, ShownRange } from "./maskView";
import type { AxisRegions } from "./useRegions";

/** What the picture shows, for those who hear it. */
export function stateText(
  mask: Mask | null,
  regions: AxisRegions,
  layer: Layer,
  { blockM, blockN }: KernelBlocks,
  range: ShownRange | null,
  chosen: Cell | null,
): string {
  if (!mask) return "There is no picture yet.";
  const { q_len, kv_len, density } = mask.statistics;
  const sentences = [
    `${formatInt(q_len)} queries by ${formatInt(kv_len)} keys, ${formatPercent(density)} of the pairs visible.`,
    LAYER_TEXT[layer](`${blockM} by ${blockN}`),
  ];
  if (range) {
    const [q0, q1] = range.rows;
    const [k0, k1] = range.keys;
    const whole = q0 === 0 && k0 === 0 && q1 === q_len && k1 === kv_len;
    sentences.push(whole ? "All of it is in view." : `In view: queries ${q0} to ${q1 - 1}, keys ${k0} to ${k1 - 1}.`);
  }
  if (chosen) {
    const where = `${place("query", chosen.q, regions.queries)}, ${place("key", chosen.k, regions.keys)}`;
    sentences.push(`Chosen: ${where}.`);
  }
  return sentences.join(" ");
}

const LAYER_TEXT: Record<Layer, (blocks: string) => string> = {
  density: () => "Drawn by the share of visible pairs.",
  rules: () => "Drawn by the rule that makes a pair visible.",
  kernel: (blocks) => `Drawn by kernel tiles of ${blocks}: full, partial or empty.`,
  tiles: (blocks) => `Drawn by the q tile of each row, for tiles of ${blocks}.`,
};
