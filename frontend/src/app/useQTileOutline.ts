import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { readQTile, readQTiles, readQTilesOfRows } from "../api/maskCalls";
import type { BlockSize } from "../api/types";
import { type Outline, outlineOfTile } from "../domain/outline";

interface Blocks {
  blockM: BlockSize;
  blockN: BlockSize;
}

/** What the q tile of a row reads, as an outline, and why the q tiles are as they are. */
export function useQTileOutline(
  hash: string | null,
  blocks: Blocks,
  q: number | null,
  wanted: boolean,
): { outline: { outline: Outline; go: boolean } | null; tiling: string | null } {
  const { blockM, blockN } = blocks;
  const name = hash ?? "";
  const tiling = useQuery({
    queryKey: ["q-tiles", hash, blockM, blockN, "reason"],
    queryFn: ({ signal }) => readQTiles(name, blocks, 0, 1, signal),
    enabled: wanted && hash !== null,
    staleTime: Infinity,
  });
  const tile = useQuery({
    queryKey: ["q-tile-of-row", hash, blockM, blockN, q],
    queryFn: async ({ signal }) => {
      const number = (await readQTilesOfRows(name, blocks, q ?? 0, 1, signal))[0] ?? -1;
      return number < 0 ? null : readQTile(name, blocks, number, signal);
    },
    enabled: wanted && hash !== null && q !== null,
    staleTime: Infinity,
  });
  const found = wanted && q !== null ? (tile.data ?? null) : null;
  const outline = useMemo(() => found && { outline: outlineOfTile(found), go: false }, [found]);
  return { outline, tiling: tiling.data?.reason ?? null };
}
