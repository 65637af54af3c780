import { useEffect, useRef, useState } from "react";
import { explainCell } from "../../api/calls";
import type { CellExplanation } from "../../api/types";
import type { Draft } from "../../domain/drafts";
import { LruCache } from "../../domain/lru";
import type { Cell } from "./maskView";

/** What was compiled: a text, its numbers, and which mask of the batch that they may give. */
export interface ExplainedMask extends Draft {
  item: number;
  head: number;
}

const REST_MS = 150;
const KEPT = 500;

/** Why a cell is visible or hidden, asked once the cursor has rested on it; null until that is known. */
export function useExplanation(program: ExplainedMask | null, cell: Cell | null): CellExplanation | null {
  const answers = useRef<{ of: ExplainedMask | null; cache: LruCache<string, CellExplanation> } | null>(null);
  if (answers.current?.of !== program) answers.current = { of: program, cache: new LruCache(KEPT) };
  const { cache } = answers.current;
  const [, setArrivals] = useState(0);
  const q = cell?.q ?? null;
  const k = cell?.k ?? null;

  useEffect(() => {
    if (program === null || q === null || k === null || cache.has(cellKey(q, k))) return;
    const controller = new AbortController();
    const ask = async () => {
      try {
        cache.set(cellKey(q, k), await explainCell({ ...program, q, k }, controller.signal));
        setArrivals((count) => count + 1);
      } catch {
        // The picture's own tiles report a server that is gone; without an answer only the words are missing.
      }
    };
    const timer = setTimeout(() => void ask(), REST_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [program, q, k, cache]);

  return q === null || k === null ? null : (cache.get(cellKey(q, k)) ?? null);
}

function cellKey(q: number, k: number): string {
  return `${q}/${k}`;
}
