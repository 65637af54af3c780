/** Addresses of pages that name something stored. */

import type { SavedRef } from "../domain/drafts";

export interface MaskPath {
  id: number;
  version: number | null;
}

/** What matches "/", "/masks/12" and "/masks/12/versions/3": one page, so that it stays when the address changes. */
export const EDITOR_PATHS = /^\/(?:masks\/(?<id>\d{1,15})(?:\/versions\/(?<version>\d{1,9}))?\/?)?$/;

/** What matches "/runs/12" and "/launches/12"; other words behind the name are no page. */
export const RUN_PATH = /^\/runs\/(?<id>[1-9]\d{0,14})\/?$/;
export const LAUNCH_PATH = /^\/launches\/(?<id>[1-9]\d{0,14})\/?$/;

export function isEditorPath(path: string): boolean {
  return EDITOR_PATHS.test(path);
}

/** The saved mask that a path names; null for other paths. */
export function maskPath(path: string): MaskPath | null {
  const { id, version } = path.match(EDITOR_PATHS)?.groups ?? {};
  return id === undefined ? null : { id: Number(id), version: version === undefined ? null : Number(version) };
}

export function savedPath({ id, version }: Pick<SavedRef, "id" | "version">): string {
  return `/masks/${id}/versions/${version}`;
}
