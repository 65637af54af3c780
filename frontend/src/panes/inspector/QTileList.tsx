import { useEffect, useState } from "react";
import { readQTile, readQTiles, readQTilesOfRows } from "../../api/maskCalls";
import type { Mask, QTileSummary } from "../../api/types";
import { formatInt, plural } from "../../domain/format";
import { type Interval, intervalsText } from "../../domain/intervals";
import { outlineOfTile } from "../../domain/outline";
import { ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { Pager } from "../../widgets/Pager";
import type { LinkedViewProps } from "./DescriptorView";
import type { Blocks } from "./InspectorPane";
import { useLinkedRow } from "./useLinkedRow";
import { isForgotten, useMaskAnswer } from "./useMaskAnswer";

const PAGE = 100;

type QTileListProps = Pick<LinkedViewProps, "chosen" | "onOutline" | "onForgotten"> & { mask: Mask; blocks: Blocks };

/** The q tiles of the cheaper tiling. The one that is chosen here or has the chosen row is outlined, with what it reads. */
export function QTileList({ mask, blocks, chosen, onOutline, onForgotten }: QTileListProps) {
  const { blockM, blockN } = blocks;
  const [page, setPage] = useState(0);
  const [selected, setSelected] = useState<{ number: number; go: boolean } | null>(null);
  const key = ["q-tiles", blockM, blockN];
  const tiles = useMaskAnswer(mask, [...key, page], (signal) =>
    readQTiles(mask.hash, blocks, page * PAGE, PAGE, signal),
  );
  const q = chosen !== null && chosen.q < mask.statistics.q_len ? chosen.q : null;
  const at = useMaskAnswer(
    mask,
    [...key, "of", q],
    async (signal) => (await readQTilesOfRows(mask.hash, blocks, q ?? 0, 1, signal))[0] ?? -1,
    q !== null,
  );
  const found = q === null || at.isPlaceholderData ? undefined : at.data;
  useEffect(() => {
    if (found === undefined || found < 0) return;
    setSelected({ number: found, go: false });
    setPage(Math.floor(found / PAGE));
  }, [found]);
  const detail = useMaskAnswer(
    mask,
    [...key, "one", selected?.number],
    (signal) => readQTile(mask.hash, blocks, selected?.number ?? 0, signal),
    selected !== null,
  );
  const tile = selected !== null && detail.data?.number === selected.number ? detail.data : null;
  useEffect(() => {
    onOutline(tile && outlineOfTile(tile), selected?.go ?? false);
    return () => onOutline(null, false);
  }, [tile, selected, onOutline]);
  const marked = useLinkedRow(selected?.number ?? null, tiles.data !== undefined && !tiles.isPlaceholderData);
  if (tiles.isPending) return <SkeletonLines lines={9} />;
  if (tiles.isError)
    return (
      <ErrorNotice error={tiles.error} onRetry={() => (isForgotten(tiles.error) ? onForgotten() : tiles.refetch())} />
    );
  const { total, offset, kind, reason } = tiles.data;
  return (
    <>
      <p className="list-note" title={reason}>
        {plural(total, "q tile")} of {blockM} rows, key tiles of {blockN}:{" "}
        {kind === "rows" ? "rows in their order, keys in place." : "rows re-tiled, keys packed."} Rows are [first,
        stop).
      </p>
      <table className="run-formulas linked-list">
        <thead>
          <tr>
            <th scope="col">Rows</th>
            <th scope="col" className="numeric">
              Full
            </th>
            <th scope="col" className="numeric">
              Partial
            </th>
          </tr>
        </thead>
        <tbody>
          {tiles.data.tiles.map((summary) => {
            const current = selected?.number === summary.number;
            return (
              <tr
                key={summary.number}
                ref={current ? marked : undefined}
                className={current ? "selected" : undefined}
                title={`q tile ${summary.number}: ${plural(summary.num_rows, "row")}`}
              >
                <td>
                  <button
                    type="button"
                    aria-pressed={current}
                    onClick={() => setSelected(current ? null : { number: summary.number, go: true })}
                  >
                    {rowsText(summary)}
                  </button>
                </td>
                <td className="numeric">{formatInt(summary.full)}</td>
                <td className="numeric">{formatInt(summary.partial)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <Pager
        what="q tiles"
        total={total}
        offset={offset}
        shown={tiles.data.tiles.length}
        page={page}
        size={PAGE}
        onPage={setPage}
      />
    </>
  );
}

function rowsText({ rows, stretches }: QTileSummary): string {
  const shown = rows.slice(0, 2) as Interval[];
  const more = stretches - shown.length;
  return more > 0 ? `${intervalsText(shown, 2)} and ${more} more` : intervalsText(shown, 2);
}
