/** What the server can be asked about launches and stored runs. */

import { client, unwrap } from "./client";
import type { LaunchCreate, LaunchEstimate, LaunchLog, RunAction, RunFacets, RunGroupField, RunGroups } from "./types";

export function estimateLaunch(body: LaunchCreate, signal?: AbortSignal): Promise<LaunchEstimate> {
  return unwrap(client.POST("/api/launches/estimate", { body, signal }));
}

export function readLaunchLog(id: number, signal?: AbortSignal): Promise<LaunchLog> {
  return unwrap(client.GET("/api/launches/{launch_id}/log", { params: { path: { launch_id: id } }, signal }));
}

export function groupRuns(
  filter: Record<string, string | number | boolean | undefined>,
  by: RunGroupField,
  signal?: AbortSignal,
): Promise<RunGroups> {
  return unwrap(client.GET("/api/runs/groups", { params: { query: { ...filter, by } }, signal }));
}

export function readFacets(archived: boolean, signal?: AbortSignal): Promise<RunFacets> {
  return unwrap(client.GET("/api/runs/facets", { params: { query: { archived } }, signal }));
}

/** The ids of the runs that were changed. */
export async function changeRuns(ids: readonly number[], action: RunAction, tag?: string): Promise<number[]> {
  return (await unwrap(client.POST("/api/runs/change", { body: { ids: [...ids], action, tag: tag ?? null } }))).ids;
}
