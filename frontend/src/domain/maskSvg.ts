/** A mask as an SVG drawing: its runs as exact stairs of cells, its regions as rulers. */

import type { Mask, RegionSpan, RunRow } from "../api/types";
import { formatInt } from "./format";

export interface SvgColours {
  ground: string;
  hidden: string;
  full: string;
  ink: string;
  line: string;
}

const SIDE = 960;
const MARGIN = { left: 74, top: 74, right: 20, bottom: 20 };
/** Stairs with more steps than this are drawn as their outline: a step would be smaller than a tenth of a pixel. */
const MAX_STEPS = 4096;

export function maskSvg(mask: Mask, runs: readonly RunRow[], title: string, colours: SvgColours): string {
  const { q_len, kv_len } = mask.statistics;
  const scale = SIDE / Math.max(q_len, kv_len, 1);
  const width = kv_len * scale;
  const height = q_len * scale;
  const shapes = runs.map((run) => `<path d="${runPath(run)}"/>`).join("\n");
  const all = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${num(width + MARGIN.left + MARGIN.right)} ${num(height + MARGIN.top + MARGIN.bottom)}" font-family="system-ui, sans-serif" font-size="13">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" fill="${colours.ground}"/>`,
    `<text x="${MARGIN.left}" y="26" fill="${colours.ink}" font-size="16" font-weight="600">${escaped(title)}</text>`,
    `<g transform="translate(${MARGIN.left} ${MARGIN.top})">`,
    `<rect width="${num(width)}" height="${num(height)}" fill="${colours.hidden}"/>`,
    `<g transform="scale(${scale})" fill="${colours.full}" shape-rendering="crispEdges">`,
    shapes,
    "</g>",
    ruler(mask.key_regions, scale, "key", colours, width),
    ruler(mask.query_regions, scale, "query", colours, height),
    "</g>",
    "</svg>",
  ];
  return `${all.join("\n")}\n`;
}

/** The stairs of one run, in cells: down its right ends, and up its left ends. */
export function runPath({ q_start, q_stop, lo_slope, lo_offset, hi_slope, hi_offset }: RunRow): string {
  const rows = q_stop - q_start;
  const straight = lo_slope === 0 && hi_slope === 0;
  const step = straight ? rows : Math.ceil(rows / MAX_STEPS);
  const points: string[] = [];
  const left: string[] = [];
  for (let q = q_start; q < q_stop; q += step) {
    const stop = Math.min(q + step, q_stop);
    const hi = hi_slope * q + hi_offset;
    const lo = lo_slope * q + lo_offset;
    points.push(`${hi} ${q}`, `${hi} ${stop}`);
    left.push(`${lo} ${q}`, `${lo} ${stop}`);
  }
  return `M${[...points, ...left.reverse()].join("L")}Z`;
}

function ruler(
  regions: readonly RegionSpan[],
  scale: number,
  axis: "query" | "key",
  colours: SvgColours,
  length: number,
): string {
  const lines = regions.flatMap(({ label, start, stop }) => {
    const from = start * scale;
    const to = stop * scale;
    if (to - from < 1) return [];
    const middle = (from + to) / 2;
    const room = to - from >= 7 * label.length;
    const text =
      axis === "key"
        ? `<text x="${num(middle)}" y="-12" text-anchor="middle">${escaped(label)}</text>`
        : `<text x="-12" y="${num(middle + 4)}" text-anchor="end">${escaped(label)}</text>`;
    const mark =
      axis === "key"
        ? `<path d="M${num(from)} -6V0M${num(to)} -6V0" stroke="${colours.line}"/>`
        : `<path d="M-6 ${num(from)}H0M-6 ${num(to)}H0" stroke="${colours.line}"/>`;
    return [mark, ...(room || (axis === "query" && to - from >= 12) ? [text] : [])];
  });
  const name =
    axis === "key"
      ? `<text x="${num(length)}" y="-32" text-anchor="end">keys</text>`
      : `<text x="-12" y="-32" text-anchor="end">queries</text>`;
  return `<g fill="${colours.ink}">${name}${lines.join("")}</g>`;
}

/** "causal, 64 × 64, 2,080 visible pairs". */
export function pictureTitle(name: string, { statistics }: Mask): string {
  const { q_len, kv_len, visible_pairs } = statistics;
  return `${name}, ${formatInt(q_len)} × ${formatInt(kv_len)}, ${formatInt(visible_pairs)} visible pairs`;
}

function num(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
