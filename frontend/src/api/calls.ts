/** One function for each thing that the server can be asked. */

import type { RunsQuery } from "../domain/runsQuery";
import { client, fetchRaw, unwrap } from "./client";
import type {
  CellExplanation,
  Comparison,
  CompileRequest,
  CompileResult,
  Environment,
  ExplainRequest,
  Launch,
  LaunchCreate,
  Preset,
  RowIntervals,
  Run,
  RunPage,
  RunTable,
  Values,
  Word,
} from "./types";

export async function readLanguage(signal?: AbortSignal): Promise<Word[]> {
  return (await unwrap(client.GET("/api/language", { signal }))).words;
}

export function listPresets(signal?: AbortSignal): Promise<Preset[]> {
  return unwrap(client.GET("/api/presets", { signal }));
}

export function compileMask(body: CompileRequest, signal?: AbortSignal): Promise<CompileResult> {
  return unwrap(client.POST("/api/compile", { body, signal }));
}

/** Which rules make a cell visible, or why none does. */
export function explainCell(body: ExplainRequest, signal?: AbortSignal): Promise<CellExplanation> {
  return unwrap(client.POST("/api/explain", { body, signal }));
}

export async function readTile(
  hash: string,
  z: number,
  y: number,
  x: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const response = await fetchRaw(`/api/masks/${encodeURIComponent(hash)}/tiles/${z}/${y}/${x}`, { signal });
  return new Uint8Array(await response.arrayBuffer());
}

export function readRow(hash: string, q: number, signal?: AbortSignal): Promise<RowIntervals> {
  // openapi-fetch widens the pairs of numbers to lists of numbers.
  return unwrap(
    client.GET("/api/masks/{hash}/rows/{q}", { params: { path: { hash, q } }, signal }),
  ) as Promise<RowIntervals>;
}

export function readMaskRuns(hash: string, offset: number, limit: number, signal?: AbortSignal): Promise<RunTable> {
  return unwrap(client.GET("/api/masks/{hash}/runs", { params: { path: { hash }, query: { offset, limit } }, signal }));
}

export function descriptorUrl(hash: string): string {
  return `/api/masks/${encodeURIComponent(hash)}/descriptor`;
}

export interface FileAnswer {
  name: string;
  blob: Blob;
}

export async function exportPython(source: string, values: Values): Promise<FileAnswer> {
  const response = await fetchRaw("/api/export/python", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ source, values }),
  });
  const name = response.headers.get("Content-Disposition")?.match(/filename="([^"]+)"/)?.[1] ?? "mask.py";
  return { name, blob: await response.blob() };
}

export function readEnvironment(signal?: AbortSignal): Promise<Environment> {
  return unwrap(client.GET("/api/environment", { signal }));
}

export function refreshEnvironment(): Promise<Environment> {
  return unwrap(client.POST("/api/environment/refresh"));
}

export function createLaunch(body: LaunchCreate): Promise<Launch> {
  return unwrap(client.POST("/api/launches", { body }));
}

export function readLaunch(id: number, signal?: AbortSignal): Promise<Launch> {
  return unwrap(client.GET("/api/launches/{launch_id}", { params: { path: { launch_id: id } }, signal }));
}

export function listActiveLaunches(signal?: AbortSignal): Promise<Launch[]> {
  return unwrap(client.GET("/api/launches", { params: { query: { active: true } }, signal }));
}

export function cancelLaunch(id: number): Promise<Launch> {
  return unwrap(client.POST("/api/launches/{launch_id}/cancel", { params: { path: { launch_id: id } } }));
}

export function listRuns(query: RunsQuery, signal?: AbortSignal): Promise<RunPage> {
  return unwrap(client.GET("/api/runs", { params: { query }, signal }));
}

export function readRun(id: number, signal?: AbortSignal): Promise<Run> {
  return unwrap(client.GET("/api/runs/{run_id}", { params: { path: { run_id: id } }, signal }));
}

export function updateRun(id: number, change: { name?: string; note?: string }): Promise<Run> {
  return unwrap(client.PATCH("/api/runs/{run_id}", { params: { path: { run_id: id } }, body: change }));
}

/** `keepalive` lets the call finish while the page is being closed. */
export async function deleteRun(id: number, keepalive = false): Promise<void> {
  await fetchRaw(`/api/runs/${id}`, { method: "DELETE", keepalive });
}

export function compareRuns(
  ids: readonly number[],
  baseline: number | null,
  signal?: AbortSignal,
): Promise<Comparison> {
  const query = { ids: ids.join(","), ...(baseline === null ? {} : { baseline }) };
  return unwrap(client.GET("/api/compare", { params: { query }, signal }));
}
