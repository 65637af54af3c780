/** What can be asked about one mask, by its hash: rows, columns, runs, rules, tiles, costs. */

import { client, fetchRaw, unwrap } from "./client";
import type {
  BlockSize,
  ColumnIntervals,
  FamilyTable,
  FormatSizes,
  MaskCost,
  QTile,
  QTileTable,
  RegionWindow,
  RegionWindowRequest,
  RuleParts,
  RulesRequest,
} from "./types";

interface Blocks {
  blockM: BlockSize;
  blockN: BlockSize;
}

export function readColumn(hash: string, k: number, signal?: AbortSignal): Promise<ColumnIntervals> {
  // openapi-fetch widens pairs of numbers to lists of numbers, here and below.
  return unwrap(
    client.GET("/api/masks/{hash}/columns/{k}", { params: { path: { hash, k } }, signal }),
  ) as Promise<ColumnIntervals>;
}

/** The mask in its compact form. */
export function readFamilies(hash: string, offset: number, limit: number, signal?: AbortSignal): Promise<FamilyTable> {
  const query = { offset, limit };
  return unwrap(client.GET("/api/masks/{hash}/families", { params: { path: { hash }, query }, signal }));
}

/** The number of the run that has a cell; null for a hidden cell. */
export async function findRun(hash: string, q: number, k: number, signal?: AbortSignal): Promise<number | null> {
  const path = { hash, q, k };
  return (await unwrap(client.GET("/api/masks/{hash}/run-at/{q}/{k}", { params: { path }, signal }))).number;
}

/** The cells of each rule; a mask of its own each, with tiles like any other. */
export function readRules(body: RulesRequest, signal?: AbortSignal): Promise<RuleParts> {
  return unwrap(client.POST("/api/rules", { body, signal }));
}

/** The regions of a part of a mask that has too many to list. */
export function readRegions(body: RegionWindowRequest, signal?: AbortSignal): Promise<RegionWindow> {
  return unwrap(client.POST("/api/regions", { body, signal }));
}

export async function readRulesTile(
  key: string,
  z: number,
  y: number,
  x: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const response = await fetchRaw(`/api/rules/${encodeURIComponent(key)}/tiles/${z}/${y}/${x}`, { signal });
  return new Uint8Array(await response.arrayBuffer());
}

export function readCost(
  hash: string,
  { blockM, blockN }: Blocks,
  shape: { numHeads: number; headDim: number },
  signal?: AbortSignal,
): Promise<MaskCost> {
  const query = { block_m: blockM, block_n: blockN, num_heads: shape.numHeads, head_dim: shape.headDim };
  return unwrap(client.GET("/api/masks/{hash}/cost", { params: { path: { hash }, query }, signal }));
}

/** Bytes of the mask in every format that it is compared with. */
export function readFormats(hash: string, { blockM, blockN }: Blocks, signal?: AbortSignal): Promise<FormatSizes> {
  const query = { block_m: blockM, block_n: blockN };
  return unwrap(client.GET("/api/masks/{hash}/formats", { params: { path: { hash }, query }, signal }));
}

export function readQTiles(
  hash: string,
  { blockM, blockN }: Blocks,
  offset: number,
  limit: number,
  signal?: AbortSignal,
): Promise<QTileTable> {
  const query = { block_m: blockM, block_n: blockN, offset, limit };
  return unwrap(
    client.GET("/api/masks/{hash}/q-tiles", { params: { path: { hash }, query }, signal }),
  ) as Promise<QTileTable>;
}

export function readQTile(
  hash: string,
  { blockM, blockN }: Blocks,
  number: number,
  signal?: AbortSignal,
): Promise<QTile> {
  const query = { block_m: blockM, block_n: blockN };
  return unwrap(
    client.GET("/api/masks/{hash}/q-tiles/{number}", { params: { path: { hash, number }, query }, signal }),
  ) as Promise<QTile>;
}

/** The q tiles of 256 rows, `step` apart. */
export async function readQTilesOfRows(
  hash: string,
  { blockM, blockN }: Blocks,
  start: number,
  step: number,
  signal?: AbortSignal,
): Promise<number[]> {
  const query = { block_m: blockM, block_n: blockN, start, step };
  const answer = await unwrap(
    client.GET("/api/masks/{hash}/q-tiles-of-rows", { params: { path: { hash }, query }, signal }),
  );
  return answer.tiles;
}
