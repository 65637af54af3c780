/** Sort, filters, search, page and selection of the runs table, as they stand in the address. */

import type { Direction, Dtype, RunGroupField, RunSort, Verdict } from "../api/types";
import { DIRECTIONS, DTYPES, RUN_GROUP_FIELDS, RUN_SORTS, VERDICTS } from "./generated/names";
import { isTag } from "./tags";

/** Which runs: the server's names. */
export interface RunsFilter {
  q?: string;
  preset?: string;
  provider?: string;
  verdict?: Verdict;
  dtype?: Dtype;
  direction?: Direction;
  device?: string;
  head_dim?: number;
  tag?: string;
  launch?: number;
  mask?: string;
  archived?: boolean;
}

export interface RunsQuery extends RunsFilter {
  sort: RunSort;
  order: "asc" | "desc";
  offset: number;
  limit: number;
}

export interface RunsView {
  query: RunsQuery;
  /** Null: one list of all. */
  group: RunGroupField | null;
  selected: number[];
}

export const PAGE_SIZES = [25, 50, 100, 200] as const;
const FILTERS = [
  "q",
  "preset",
  "provider",
  "verdict",
  "dtype",
  "direction",
  "device",
  "head_dim",
  "tag",
  "launch",
  "mask",
  "archived",
] as const satisfies readonly (keyof RunsFilter)[];
/** Everything back to all runs of this list; the archive stays the archive. */
export const NO_FILTERS = Object.fromEntries(
  FILTERS.filter((name) => name !== "archived").map((name) => [name, undefined]),
) as Partial<RunsQuery>;

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
    direction: oneOf(params.get("direction"), DIRECTIONS),
    device: text("device"),
    head_dim: wholeNumber(params.get("head_dim")) || undefined,
    tag: tagOf(text("tag")),
    launch: wholeNumber(params.get("launch")) || undefined,
    mask: text("mask"),
    archived: params.get("archived") === "true" || undefined,
    sort: oneOf(params.get("sort"), RUN_SORTS) ?? DEFAULTS.sort,
    order: oneOf(params.get("order"), ["asc", "desc"] as const) ?? DEFAULTS.order,
    offset: wholeNumber(params.get("offset")) ?? DEFAULTS.offset,
    limit: PAGE_SIZES.find((size) => String(size) === params.get("limit")) ?? DEFAULTS.limit,
  };
  return {
    query,
    group: oneOf(params.get("group"), RUN_GROUP_FIELDS) ?? null,
    selected: parseIds(params.get("sel")),
  };
}

/** The search part of the address, without a leading "?"; defaults are left out. */
export function formatRunsView({ query, group, selected }: RunsView): string {
  const params = filterParams(query);
  for (const name of ["sort", "order", "offset", "limit"] as const) {
    if (query[name] !== DEFAULTS[name]) params.set(name, String(query[name]));
  }
  if (group !== null) params.set("group", group);
  if (selected.length > 0) params.set("sel", selected.join(","));
  return params.toString();
}

/** The filters that are set, as a search. */
export function filterParams(query: RunsFilter): URLSearchParams {
  const params = new URLSearchParams();
  for (const name of FILTERS) {
    const value = query[name];
    if (value) params.set(name, String(value));
  }
  return params;
}

/** The filters alone, without sort and page. */
export function filterOf(query: RunsFilter): RunsFilter {
  return Object.fromEntries(FILTERS.map((name) => [name, query[name]])) as RunsFilter;
}

export function hasFilters(query: RunsFilter): boolean {
  return FILTERS.some((name) => name !== "archived" && query[name] !== undefined);
}

/** The filter that shows the runs of a group, and no others. */
export function groupFilter(by: RunGroupField, value: string | null): Partial<RunsQuery> | null {
  if (value === null) return null;
  switch (by) {
    case "mask_name":
      return { preset: value };
    case "launch_id":
      return { launch: Number(value) };
    case "head_dim":
      return { head_dim: Number(value) };
    case "verdict":
      return { verdict: oneOf(value, VERDICTS) };
    case "dtype":
      return { dtype: oneOf(value, DTYPES) };
    case "direction":
      return { direction: oneOf(value, DIRECTIONS) };
    case "provider":
      return { provider: value };
    case "device":
      return { device: value };
  }
}

/** "3,5,8" -> [3, 5, 8], without what is no id. */
export function parseIds(text: string | null): number[] {
  const ids = (text ?? "").split(",").flatMap((word) => wholeNumber(word) || []);
  return [...new Set(ids)];
}

function tagOf(text: string | undefined): string | undefined {
  return text !== undefined && isTag(text) ? text : undefined;
}

/** Nine digits: what the server takes for a number. */
function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function oneOf<T extends string>(text: string | null, allowed: readonly T[]): T | undefined {
  return allowed.find((item) => item === text);
}
