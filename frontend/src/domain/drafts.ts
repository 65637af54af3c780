/** Texts that the user worked on, so that opening another never loses one. */

import type { Values } from "../api/types";
import { isValue } from "./values";

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

export const MAX_DRAFTS = 40;

/** Adds a draft in front; an entry with the same text is replaced, and the oldest are forgotten. */
export function remember(history: readonly SavedDraft[], draft: SavedDraft): SavedDraft[] {
  if (draft.source.trim() === "") return [...history];
  return [draft, ...history.filter((entry) => entry.source !== draft.source)].slice(0, MAX_DRAFTS);
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
