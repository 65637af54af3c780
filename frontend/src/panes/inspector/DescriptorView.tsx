import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { descriptorUrl, readMaskRuns } from "../../api/calls";
import { ApiError } from "../../api/client";
import type { Mask } from "../../api/types";
import { formatInt, plural } from "../../domain/format";
import { keysText, rowRange, runText } from "../../domain/formulas";
import { Button } from "../../widgets/Button";
import { ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";

const PAGE = 100;

interface DescriptorViewProps {
  mask: Mask | null;
  stale: boolean;
  /** The server forgot this mask: compile again. */
  onForgotten: () => void;
}

/** The trapezoids that make up the mask, written as formulas. */
export function DescriptorView({ mask, stale, onForgotten }: DescriptorViewProps) {
  if (!mask) return <SkeletonLines lines={9} />;
  return <RunList key={mask.hash} mask={mask} stale={stale} onForgotten={onForgotten} />;
}

function RunList({ mask, stale, onForgotten }: DescriptorViewProps & { mask: Mask }) {
  const [page, setPage] = useState(0);
  const runs = useQuery({
    queryKey: ["mask-runs", mask.hash, page],
    queryFn: ({ signal }) => readMaskRuns(mask.hash, page * PAGE, PAGE, signal),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  });
  const { isError, refetch } = runs;
  // A mask that was compiled again is known again.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the new answer for the same mask is what matters
  useEffect(() => {
    if (isError) void refetch();
  }, [mask]);
  if (runs.isPending) return <SkeletonLines lines={9} />;
  if (runs.isError)
    return <ErrorNotice error={runs.error} onRetry={() => (isUnknown(runs.error) ? onForgotten() : refetch())} />;
  const { total, offset, rows } = runs.data;
  const pages = Math.max(1, Math.ceil(total / PAGE));
  return (
    <div className={stale ? "descriptor stale" : "descriptor"}>
      <div className="descriptor-head">
        <span>{plural(total, "run")}</span>
        <a className="button small" href={descriptorUrl(mask.hash)} download>
          <Icon name="download" size={14} />
          JSON
        </a>
      </div>
      <table className="run-formulas">
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
          {rows.map((run) => (
            <tr key={`${run.q_start} ${run.lo_slope} ${run.lo_offset}`} title={runText(run)}>
              <td>{rowRange(run)}</td>
              <td>{keysText(run)}</td>
              <td className="numeric">{formatInt(run.pairs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {pages > 1 && (
        <div className="pager">
          <Button
            small
            look="quiet"
            icon="left"
            aria-label="Previous runs"
            disabled={page === 0}
            onClick={() => setPage(page - 1)}
          />
          <span>
            {formatInt(offset + 1)}–{formatInt(offset + rows.length)} of {formatInt(total)}
          </span>
          <Button
            small
            look="quiet"
            icon="right"
            aria-label="Next runs"
            disabled={page + 1 >= pages}
            onClick={() => setPage(page + 1)}
          />
        </div>
      )}
    </div>
  );
}

function isUnknown(error: Error): boolean {
  return error instanceof ApiError && error.status === 404;
}
