import { useEffect, useState } from "react";
import { readFamilies } from "../../api/maskCalls";
import type { Mask } from "../../api/types";
import { formatBytes, formatInt, plural } from "../../domain/format";
import { keysText, repeatText, rowRange } from "../../domain/formulas";
import { ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { Pager } from "../../widgets/Pager";
import type { LinkedViewProps } from "./DescriptorView";
import { isForgotten, useMaskAnswer } from "./useMaskAnswer";

const PAGE = 50;

/** The compact form: runs that repeat at equal steps stand together. The chosen family is outlined in the picture. */
export function FamilyList({
  mask,
  onOutline,
  onForgotten,
}: Pick<LinkedViewProps, "onOutline" | "onForgotten"> & { mask: Mask }) {
  const [page, setPage] = useState(0);
  const [selected, setSelected] = useState<number | null>(null);
  const answer = useMaskAnswer(mask, ["families", page], (signal) =>
    readFamilies(mask.hash, page * PAGE, PAGE, signal),
  );
  const family = selected === null ? undefined : answer.data?.families[selected - answer.data.offset];
  useEffect(() => {
    onOutline(family ? { kind: "family", family } : null, true);
    return () => onOutline(null, false);
  }, [family, onOutline]);
  if (answer.isPending) return <SkeletonLines lines={9} />;
  if (answer.isError)
    return (
      <ErrorNotice
        error={answer.error}
        onRetry={() => (isForgotten(answer.error) ? onForgotten() : answer.refetch())}
      />
    );
  const { total, offset, families } = answer.data;
  return (
    <>
      <p className="list-note">
        {plural(mask.statistics.runs, "run")} in {plural(total, "family", "families")},{" "}
        {formatBytes(mask.statistics.compact_bytes)}. Rows × keys, each [first, stop).
      </p>
      <ul className="interval-list families">
        {families.map((one, index) => {
          const number = offset + index;
          return (
            <li key={number}>
              <button
                type="button"
                aria-pressed={selected === number}
                onClick={() => setSelected(selected === number ? null : number)}
              >
                <code>
                  {rowRange(one.first)} × {keysText(one.first)}
                </code>
                <small>{plural(one.runs, "run")}</small>
                {one.repeats.map((repeat) => (
                  <span key={`${repeat.count} ${repeat.rows} ${repeat.lo}`}>{repeatText(one.first, repeat)}</span>
                ))}
                {one.repeats.length === 0 && <span>{formatInt(one.first.pairs)} pairs</span>}
              </button>
            </li>
          );
        })}
      </ul>
      <Pager
        what="families"
        total={total}
        offset={offset}
        shown={families.length}
        page={page}
        size={PAGE}
        onPage={setPage}
      />
    </>
  );
}
