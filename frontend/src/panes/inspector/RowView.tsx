import { useEffect, useState } from "react";
import { readRow } from "../../api/calls";
import { readColumn } from "../../api/maskCalls";
import type { Mask, RegionSpan, RowIntervals } from "../../api/types";
import { formatInt, formatPercent, plural } from "../../domain/format";
import type { Interval } from "../../domain/intervals";
import { outlineOfCells } from "../../domain/outline";
import { regionAt } from "../../domain/regions";
import { Button } from "../../widgets/Button";
import { ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { NumberStepper } from "../../widgets/NumberStepper";
import type { LinkedViewProps } from "./DescriptorView";
import type { ChosenCell } from "./InspectorPane";
import { isForgotten, useMaskAnswer } from "./useMaskAnswer";

type RowViewProps = LinkedViewProps & { onChoose: (cell: ChosenCell) => void };

/** What one query sees, and who sees one key: those of the cell that was chosen in the picture or here. */
export function RowView({ mask, stale, chosen, onChoose, onOutline, onForgotten }: RowViewProps) {
  if (!mask) return <SkeletonLines lines={9} />;
  const { q_len: rows, kv_len: keys } = mask.statistics;
  if (rows === 0 || keys === 0) return <p className="muted">This mask has no cells.</p>;
  const q = Math.min(chosen?.q ?? 0, rows - 1);
  const k = Math.min(chosen?.k ?? 0, keys - 1);
  const shared = { mask, onOutline, onForgotten };
  return (
    <div className={stale ? "row-view stale" : "row-view"}>
      {chosen === null && <p className="list-note">Click a cell in the picture, or name one here.</p>}
      <div className="row-choice">
        <label htmlFor="row-view-q">Query</label>
        <NumberStepper
          id="row-view-q"
          label="Query"
          value={q}
          min={0}
          max={rows - 1}
          onChange={(next) => onChoose({ q: next, k })}
        />
        <label htmlFor="row-view-k">Key</label>
        <NumberStepper
          id="row-view-k"
          label="Key"
          value={k}
          min={0}
          max={keys - 1}
          onChange={(next) => onChoose({ q, k: next })}
        />
      </div>
      <Line key={`q${q}`} axis="row" index={q} regions={mask.query_regions} others={mask.key_regions} {...shared} />
      <Line key={`k${k}`} axis="column" index={k} regions={mask.key_regions} others={mask.query_regions} {...shared} />
    </div>
  );
}

interface LineProps extends Pick<LinkedViewProps, "onOutline" | "onForgotten"> {
  mask: Mask;
  axis: "row" | "column";
  index: number;
  regions: readonly RegionSpan[];
  others: readonly RegionSpan[];
}

const SHOWN = 200;

/** The intervals of one row or column, each of which can be found in the picture. */
function Line({ mask, axis, index, regions, others, onOutline, onForgotten }: LineProps) {
  const [selected, setSelected] = useState<number | null>(null);
  const answer = useMaskAnswer<Pick<RowIntervals, "intervals" | "total" | "pairs">>(mask, [axis, index], (signal) =>
    axis === "row" ? readRow(mask.hash, index, signal) : readColumn(mask.hash, index, signal),
  );
  const interval = selected === null ? undefined : answer.data?.intervals[selected];
  useEffect(() => {
    if (!interval) return;
    const own: Interval = [index, index + 1];
    onOutline(axis === "row" ? outlineOfCells(own, interval) : outlineOfCells(interval, own), true);
    return () => onOutline(null, false);
  }, [interval, axis, index, onOutline]);
  const region = regionAt(regions, index);
  const title = `${axis === "row" ? "Query" : "Key"} ${formatInt(index)}${region ? ` (${region.label})` : ""}`;
  if (answer.isError)
    return (
      <ErrorNotice
        error={answer.error}
        onRetry={() => (isForgotten(answer.error) ? onForgotten() : answer.refetch())}
      />
    );
  if (answer.isPending) return <SkeletonLines lines={4} />;
  const { intervals, total, pairs } = answer.data;
  const length = axis === "row" ? mask.statistics.kv_len : mask.statistics.q_len;
  const verb = axis === "row" ? "sees" : "is seen by";
  const what = axis === "row" ? plural(pairs, "key") : plural(pairs, "query", "queries");
  return (
    <section className="line-view" aria-label={title} data-axis={axis}>
      <h3>
        {title}{" "}
        <small>
          {verb} {what}, {formatPercent(pairs / length)}
        </small>
      </h3>
      {total === 0 ? (
        <p className="muted">{axis === "row" ? "It sees no key." : "No query sees it."}</p>
      ) : (
        <ul className="interval-list">
          {intervals.slice(0, SHOWN).map(([start, stop], number) => (
            <li key={start}>
              <button
                type="button"
                aria-pressed={selected === number}
                onClick={() => setSelected(selected === number ? null : number)}
              >
                <code>
                  [{start}, {stop})
                </code>
                <span className="truncate">{regionsText(others, start, stop)}</span>
                <small>{formatInt(stop - start)}</small>
              </button>
            </li>
          ))}
        </ul>
      )}
      {total > SHOWN && (
        <p className="list-note">
          The first {SHOWN} of {plural(total, "interval")}.
        </p>
      )}
      {selected !== null && (
        <Button small look="quiet" onClick={() => setSelected(null)}>
          No longer outline it
        </Button>
      )}
    </section>
  );
}

/** "H", or "C … H" for an interval that reaches over several regions. */
function regionsText(regions: readonly RegionSpan[], start: number, stop: number): string {
  const first = regionAt(regions, start)?.label ?? "";
  const last = regionAt(regions, stop - 1)?.label ?? "";
  return first === last ? first : `${first} … ${last}`;
}
