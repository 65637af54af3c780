import { useQuery } from "@tanstack/react-query";
import { readRow } from "../../api/calls";
import type { CellDifference } from "../../api/types";
import { formatInt } from "../../domain/format";
import type { Cell } from "./diffView";

/** "query 3, key 5: added"; null while it is not known. */
export function useCellText(cells: CellDifference, cell: Cell | null): string | null {
  const left = useRowOf(cells.left_hash, cell);
  const right = useRowOf(cells.right_hash, cell);
  if (!cell || left === undefined || right === undefined) return null;
  const words = left && right ? "visible in both" : left ? "removed" : right ? "added" : "hidden in both";
  return `query ${formatInt(cell.q)}, key ${formatInt(cell.k)}: ${words}`;
}

/** Whether the mask shows the cell; rows beyond its end show nothing. */
function useRowOf(hash: string, cell: Cell | null): boolean | undefined {
  const q = cell?.q ?? 0;
  const row = useQuery({
    queryKey: ["row", hash, q],
    queryFn: ({ signal }) => readRow(hash, q, signal),
    staleTime: Infinity,
    enabled: cell !== null,
    retry: false,
  });
  if (!cell || row.isPending) return undefined;
  return row.data?.intervals.some(([start, stop]) => cell.k >= start && cell.k < stop) ?? false;
}
