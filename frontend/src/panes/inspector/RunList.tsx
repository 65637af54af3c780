import { useEffect, useState } from "react";
import { readMaskRuns } from "../../api/calls";
import { findRun } from "../../api/maskCalls";
import type { Mask } from "../../api/types";
import { formatInt, plural } from "../../domain/format";
import { keysText, rowRange, runText } from "../../domain/formulas";
import { ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { Pager } from "../../widgets/Pager";
import type { LinkedViewProps } from "./DescriptorView";
import { useLinkedRow } from "./useLinkedRow";
import { isForgotten, useMaskAnswer } from "./useMaskAnswer";

const PAGE = 100;

type RunListProps = Pick<LinkedViewProps, "chosen" | "onOutline" | "onForgotten"> & { mask: Mask };

/** The runs as formulas. The one that is chosen here or holds the chosen cell is outlined in the picture. */
export function RunList({ mask, chosen, onOutline, onForgotten }: RunListProps) {
  const [page, setPage] = useState(0);
  const [selected, setSelected] = useState<{ number: number; go: boolean } | null>(null);
  const runs = useMaskAnswer(mask, ["runs", page], (signal) => readMaskRuns(mask.hash, page * PAGE, PAGE, signal));
  const at = useMaskAnswer(
    mask,
    ["run-at", chosen],
    (signal) => findRun(mask.hash, chosen?.q ?? 0, chosen?.k ?? 0, signal),
    chosen !== null && chosen.q < mask.statistics.q_len && chosen.k < mask.statistics.kv_len,
  );
  const found = chosen === null || at.isPlaceholderData ? undefined : at.data;
  useEffect(() => {
    if (found === undefined) return;
    setSelected(found === null ? null : { number: found, go: false });
    if (found !== null) setPage(Math.floor(found / PAGE));
  }, [found]);
  const row = selected && runs.data ? runs.data.rows[selected.number - runs.data.offset] : undefined;
  useEffect(() => {
    onOutline(row ? { kind: "run", run: row } : null, selected?.go ?? false);
    return () => onOutline(null, false);
  }, [row, selected, onOutline]);
  const marked = useLinkedRow(selected?.number ?? null, row !== undefined);
  if (runs.isPending) return <SkeletonLines lines={9} />;
  if (runs.isError)
    return (
      <ErrorNotice error={runs.error} onRetry={() => (isForgotten(runs.error) ? onForgotten() : runs.refetch())} />
    );
  const { total, offset, rows } = runs.data;
  return (
    <>
      <p className="list-note">
        {plural(total, "run")}. Rows and keys are [first, stop): the last number is not in it.
        {found === null && " The chosen cell is hidden, so no run holds it."}
      </p>
      <table className="run-formulas linked-list">
        <thead>
          <tr>
            <th scope="col">Rows</th>
            <th scope="col">Keys</th>
            <th scope="col" className="numeric">
              Pairs
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((run, index) => {
            const number = offset + index;
            const current = selected?.number === number;
            return (
              <tr
                key={number}
                ref={current ? marked : undefined}
                className={current ? "selected" : undefined}
                title={runText(run)}
              >
                <td>
                  <button
                    type="button"
                    aria-pressed={current}
                    onClick={() => setSelected(current ? null : { number, go: true })}
                  >
                    {rowRange(run)}
                  </button>
                </td>
                <td>{keysText(run)}</td>
                <td className="numeric">{formatInt(run.pairs)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <Pager what="runs" total={total} offset={offset} shown={rows.length} page={page} size={PAGE} onPage={setPage} />
    </>
  );
}
