/** Sort, filters, search, page and selection of the runs table, as they stand in the address. */

import type { Dtype, RunSort, Verdict } from "../api/types";
import { DTYPES, RUN_SORTS, VERDICTS } from "./generated/names";

export interface RunsQuery {
  q?: string;
  preset?: string;
  provider?: string;
  verdict?: Verdict;
  dtype?: Dtype;
  device?: string;
  sort: RunSort;
  order: "asc" | "desc";
  offset: number;
  limit: number;
}

export interface RunsView {
  query: RunsQuery;
  selected: number[];
}

export const PAGE_SIZES = [25, 50, 100, 200] as const;
const DEFAULTS: RunsQuery = { sort: "created_at", order: "desc", offset: 0, limit: 50 };

export function parseRunsView(search: string): RunsView {
  const params = new URLSearchParams(search);
  const text = (name: string) => params.get(name)?.slice(0, 200) || undefined;
  const query: RunsQuery = {
    q: text("q"),
    preset: text("preset"),
    provider: text("provider"),
    verdict: oneOf(params.get("verdict"), VERDICTS),
    dtype: oneOf(params.get("dtype"), DTYPES),
    device: text("device"),
    sort: oneOf(params.get("sort"), RUN_SORTS) ?? DEFAULTS.sort,
    order: oneOf(params.get("order"), ["asc", "desc"] as const) ?? DEFAULTS.order,
    offset: wholeNumber(params.get("offset")) ?? DEFAULTS.offset,
    limit: PAGE_SIZES.find((size) => String(size) === params.get("limit")) ?? DEFAULTS.limit,
  };
  return { query, selected: parseIds(params.get("sel")) };
}

/** The search part of the address, without a leading "?"; defaults are left out. */
export function formatRunsView({ query, selected }: RunsView): string {
  const params = new URLSearchParams();
  for (const name of ["q", "preset", "provider", "verdict", "dtype", "device"] as const) {
    const value = query[name];
    if (value) params.set(name, value);
  }
  for (const name of ["sort", "order", "offset", "limit"] as const) {
    if (query[name] !== DEFAULTS[name]) params.set(name, String(query[name]));
  }
  if (selected.length > 0) params.set("sel", selected.join(","));
  return params.toString();
}

export function hasFilters(query: RunsQuery): boolean {
  return Boolean(query.q || query.preset || query.provider || query.verdict || query.dtype || query.device);
}

/** "3,5,8" -> [3, 5, 8], without what is no id. */
export function parseIds(text: string | null): number[] {
  const ids = (text ?? "").split(",").map(wholeNumber);
  return [...new Set(ids.filter((id) => id !== undefined))];
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}

function oneOf<T extends string>(text: string | null, allowed: readonly T[]): T | undefined {
  return allowed.find((item) => item === text);
}
