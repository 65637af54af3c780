/** Texts that the user worked on, so that opening another never loses one. */

import type { Values } from "../api/types";
import { isValue, sameValues } from "./values";

export interface Draft {
  source: string;
  values: Values;
}

export interface SavedDraft extends Draft {
  id: string;
  name: string;
  /** Milliseconds since 1970. */
  savedAt: number;
}

/** Which version of which saved mask a draft began as. */
export interface SavedRef {
  id: number;
  version: number;
  name: string;
}

/** A draft in a tab. */
export interface OpenDraft extends Draft {
  id: string;
  /** The text and values that it was opened with or saved as; null when it was begun empty. */
  base: Draft | null;
  saved: SavedRef | null;
}

export const MAX_DRAFTS = 60;

/** Adds a draft in front; an entry with the same text is replaced, and the oldest are forgotten. */
export function remember(history: readonly SavedDraft[], draft: SavedDraft): SavedDraft[] {
  if (draft.source.trim() === "") return [...history];
  return [draft, ...history.filter((entry) => entry.source !== draft.source)].slice(0, MAX_DRAFTS);
}

export function sameDraft(a: Draft, b: Draft): boolean {
  return a.source === b.source && sameValues(a.values, b.values);
}

/** True when nothing would be lost with this draft: it is as it was opened or saved, or blank. */
export function isUntouched(draft: OpenDraft): boolean {
  return draft.source.trim() === "" || (draft.base !== null && sameDraft(draft, draft.base));
}

/** What a tab is called: the saved mask's name, else the one in the text. */
export function tabName(draft: OpenDraft): string {
  return draft.saved?.name ?? draftName(draft.source);
}

/** The name in `mask name(...)`, else the first words of the text. */
export function draftName(source: string): string {
  const named = source.match(/^\s*mask\s+([\p{L}_][\p{L}\p{N}_]*)/mu);
  if (named?.[1]) return named[1];
  return source.trim().slice(0, 24) || "empty";
}

export function parseDraft(text: string | null): Draft | null {
  const data = parseJson(text);
  return isDraft(data) ? { source: data.source, values: data.values } : null;
}

export function parseOpenDraft(text: string | null): OpenDraft | null {
  const data = parseJson(text) as (Partial<OpenDraft> & Draft) | null;
  if (!isDraft(data) || typeof data.id !== "string") return null;
  const { id, source, values } = data;
  return {
    id,
    source,
    values,
    base: isDraft(data.base) ? data.base : null,
    saved: isSavedRef(data.saved) ? data.saved : null,
  };
}

function isSavedRef(data: unknown): data is SavedRef {
  const ref = data as SavedRef | null | undefined;
  return typeof ref?.id === "number" && typeof ref.version === "number" && typeof ref.name === "string";
}

/** The ids of the drafts in tabs, in their order. */
export function parseTabs(text: string | null): string[] {
  const data = parseJson(text);
  return Array.isArray(data) ? data.filter((id) => typeof id === "string") : [];
}

export function parseHistory(text: string | null): SavedDraft[] {
  const data = parseJson(text);
  return Array.isArray(data) ? data.filter(isSavedDraft) : [];
}

function parseJson(text: string | null): unknown {
  if (text === null) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export function isDraft(data: unknown): data is Draft {
  if (typeof data !== "object" || data === null) return false;
  const draft = data as Record<string, unknown>;
  return typeof draft.source === "string" && isValues(draft.values);
}

function isValues(data: unknown): data is Values {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return false;
  return Object.values(data).every(isValue);
}

function isSavedDraft(data: unknown): data is SavedDraft {
  if (!isDraft(data)) return false;
  const saved = data as unknown as Record<string, unknown>;
  return typeof saved.id === "string" && typeof saved.name === "string" && typeof saved.savedAt === "number";
}
