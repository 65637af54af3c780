import { useEffect, useRef, useState } from "react";
import { readRow } from "../../api/calls";
import type { RowIntervals } from "../../api/types";
import { LruCache } from "../../domain/lru";

const KEPT = 500;

/** The visible intervals of row q: one request at a time, always for the row asked last. */
export function useRow(hash: string | null, q: number | null): RowIntervals | null {
  const cache = useRef(new LruCache<string, RowIntervals>(KEPT));
  const wanted = useRef<{ hash: string; q: number } | null>(null);
  const running = useRef(false);
  const [, setArrivals] = useState(0);

  useEffect(() => {
    wanted.current = hash !== null && q !== null ? { hash, q } : null;
    const pump = async () => {
      const next = wanted.current;
      if (running.current || next === null || cache.current.has(rowKey(next))) return;
      running.current = true;
      try {
        cache.current.set(rowKey(next), await readRow(next.hash, next.q));
        setArrivals((count) => count + 1);
      } catch {
        // The picture's own tiles report a server that is gone; a missing row only leaves the strip empty.
        if (wanted.current && rowKey(wanted.current) === rowKey(next)) wanted.current = null;
      } finally {
        running.current = false;
      }
      void pump();
    };
    void pump();
  }, [hash, q]);

  if (hash === null || q === null) return null;
  return cache.current.get(rowKey({ hash, q })) ?? null;
}

function rowKey({ hash, q }: { hash: string; q: number }): string {
  return `${hash}/${q}`;
}
