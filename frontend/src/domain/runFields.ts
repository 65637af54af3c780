/** Every condition of several runs as text, under the names that the server uses for differences. */

import type { Run } from "../api/types";

const FIELDS = [
  "mask_name",
  "mask_hash",
  "values",
  "q_len",
  "kv_len",
  "visible_pairs",
  "provider",
  "impl_detail",
  "batch",
  "num_q_heads",
  "num_kv_heads",
  "head_dim",
  "dtype",
  "seed",
  "cache_state",
  "device",
] as const satisfies readonly (keyof Run)[];

export function allFields(runs: readonly Run[]): { field: string; values: string[] }[] {
  const own = FIELDS.map((field) => ({ field: field as string, values: runs.map((run) => text(run[field])) }));
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.environment)))].sort();
  const environment = names.map((name) => ({
    field: `environment.${name}`,
    values: runs.map((run) => run.environment[name] ?? ""),
  }));
  return [...own, ...environment];
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
