/** One function for each thing that the server can be asked. */

import type { Draft } from "../domain/drafts";
import type { RunsQuery } from "../domain/runsQuery";
import { client, fetchRaw, unwrap } from "./client";
import { type MaskTile, unpackTiles } from "./tileBundle";
import type {
  CellExplanation,
  Comparison,
  CompileRequest,
  CompileResult,
  CompletionItem,
  Environment,
  ExplainRequest,
  FormattedText,
  Hover,
  Launch,
  LaunchCreate,
  LaunchSummary,
  MaskDiff,
  MaskVersion,
  Preset,
  RowIntervals,
  Run,
  RunPage,
  RunTable,
  SavedMask,
  SavedMaskPage,
  Values,
  Word,
} from "./types";

export async function readLanguage(signal?: AbortSignal): Promise<Word[]> {
  return (await unwrap(client.GET("/api/language", { signal }))).words;
}

export function readPreset(name: string, signal?: AbortSignal): Promise<Preset> {
  return unwrap(client.GET("/api/presets/{name}", { params: { path: { name } }, signal }));
}

export function listPresets(signal?: AbortSignal): Promise<Preset[]> {
  return unwrap(client.GET("/api/presets", { signal }));
}

export function compileMask(body: CompileRequest, signal?: AbortSignal): Promise<CompileResult> {
  return unwrap(client.POST("/api/compile", { body, signal }));
}

/** As `compileMask`, with the tiles that were asked for. */
export async function compilePicture(
  body: CompileRequest,
  signal?: AbortSignal,
): Promise<{ result: CompileResult; tiles: MaskTile[] }> {
  const result = await compileMask(body, signal);
  return { result, tiles: result.tiles ? await unpackTiles(result.tiles) : [] };
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

/** So many runs of a launch are read at once. */
export const RUNS_AT_ONCE = 100;

export function readLaunch(id: number, offset: number, signal?: AbortSignal): Promise<Launch> {
  const params = { path: { launch_id: id }, query: { offset, limit: RUNS_AT_ONCE } };
  return unwrap(client.GET("/api/launches/{launch_id}", { params, signal }));
}

export function listActiveLaunches(signal?: AbortSignal): Promise<LaunchSummary[]> {
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

export function updateRun(id: number, change: { name?: string; note?: string; tags?: string[] }): Promise<Run> {
  return unwrap(client.PATCH("/api/runs/{run_id}", { params: { path: { run_id: id } }, body: change }));
}

export function compareRuns(
  ids: readonly number[],
  baseline: number | null,
  signal?: AbortSignal,
): Promise<Comparison> {
  const query = { ids: ids.join(","), ...(baseline === null ? {} : { baseline }) };
  return unwrap(client.GET("/api/compare", { params: { query }, signal }));
}

export async function formatText(source: string): Promise<FormattedText> {
  return unwrap(client.POST("/api/text/format", { body: { source } }));
}

export async function completeText(source: string, offset: number, signal?: AbortSignal): Promise<CompletionItem[]> {
  return (await unwrap(client.POST("/api/text/complete", { body: { source, offset }, signal }))).items;
}

export async function hoverText(source: string, offset: number): Promise<Hover | null> {
  return (await unwrap(client.POST("/api/text/hover", { body: { source, offset } }))).hover;
}

export function listSavedMasks(q: string, offset: number, signal?: AbortSignal): Promise<SavedMaskPage> {
  return unwrap(client.GET("/api/saved-masks", { params: { query: { q, offset } }, signal }));
}

export function readSavedMask(id: number, signal?: AbortSignal): Promise<SavedMask> {
  return unwrap(client.GET("/api/saved-masks/{mask_id}", { params: { path: { mask_id: id } }, signal }));
}

export function readMaskVersion(id: number, number: number, signal?: AbortSignal): Promise<MaskVersion> {
  const path = { mask_id: id, number };
  return unwrap(client.GET("/api/saved-masks/{mask_id}/versions/{number}", { params: { path }, signal }));
}

export function createSavedMask(name: string, draft: Draft, note: string): Promise<SavedMask> {
  const { source, values } = draft;
  return unwrap(client.POST("/api/saved-masks", { body: { name, source, values, note } }));
}

export function createMaskVersion(id: number, draft: Draft, note: string): Promise<SavedMask> {
  const { source, values } = draft;
  const params = { path: { mask_id: id } };
  return unwrap(client.POST("/api/saved-masks/{mask_id}/versions", { params, body: { source, values, note } }));
}

export function renameSavedMask(id: number, name: string): Promise<SavedMask> {
  return unwrap(client.PATCH("/api/saved-masks/{mask_id}", { params: { path: { mask_id: id } }, body: { name } }));
}

export async function deleteSavedMask(id: number): Promise<void> {
  await fetchRaw(`/api/saved-masks/${id}`, { method: "DELETE" });
}

export function restoreSavedMask(id: number): Promise<SavedMask> {
  return unwrap(client.POST("/api/saved-masks/{mask_id}/restore", { params: { path: { mask_id: id } } }));
}

export function diffMasks(left: Draft, right: Draft, signal?: AbortSignal): Promise<MaskDiff> {
  const side = ({ source, values }: Draft) => ({
    source,
    values,
    revision: 0,
    block_m: 128 as const,
    block_n: 128 as const,
    item: 0,
    head: 0,
    tiles: [],
  });
  return unwrap(client.POST("/api/diff", { body: { left: side(left), right: side(right) }, signal }));
}

export async function readDiffTile(
  pair: { left: string; right: string },
  z: number,
  y: number,
  x: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const response = await fetchRaw(`/api/diff/${pair.left}/${pair.right}/tiles/${z}/${y}/${x}`, { signal });
  return new Uint8Array(await response.arrayBuffer());
}
