import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { compareRuns } from "../../api/calls";
import { shownComparison } from "../../domain/comparison";
import type { ThemeName } from "../../domain/palette";
import { Cautions, EmptyState, ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { CompareCharts } from "./CompareCharts";
import { CompareExports } from "./CompareExports";
import { CompareTable } from "./CompareTable";
import { DifferenceTable } from "./DifferenceTable";

interface ComparePaneProps {
  ids: readonly number[];
  baseline: number | null;
  theme: ThemeName;
  onBaseline: (id: number) => void;
  onRemove: (id: number) => void;
  onSave: (file: { name: string; blob: Blob }) => void;
}

/** Several runs beside each other, measured against one of them. */
export function ComparePane({ ids, baseline, theme, onBaseline, onRemove, onSave }: ComparePaneProps) {
  const comparison = useQuery({
    queryKey: ["compare", ids, baseline],
    queryFn: ({ signal }) => compareRuns(ids, baseline, signal),
    enabled: ids.length >= 2,
    placeholderData: keepPreviousData,
  });
  // What was clicked shows at once; the numbers that hang on it follow when the server has answered.
  const shown = comparison.data ? shownComparison(comparison.data, ids, baseline) : null;
  return (
    <div className="page">
      <div className="page-head">
        <h1>Compare</h1>
        {shown && ids.length >= 2 && <span className="muted">{shown.runs.length} runs</span>}
        <span className="grow" />
        {ids.length >= 2 && comparison.data && !comparison.isPlaceholderData && (
          <CompareExports comparison={comparison.data} onSave={onSave} />
        )}
      </div>
      {ids.length < 2 && (
        <EmptyState
          icon="compare"
          title="Choose at least two runs"
          actions={
            <Link href="/runs" className="button primary">
              Open the runs table
            </Link>
          }
        >
          Tick runs in the table and press Compare. Their times, errors and conditions then stand side by side.
        </EmptyState>
      )}
      {ids.length >= 2 && comparison.isPending && <SkeletonLines lines={9} height={24} />}
      {comparison.isError && <ErrorNotice error={comparison.error} onRetry={() => comparison.refetch()} />}
      {ids.length >= 2 && shown && shown.runs.length > 0 && (
        <div className="compare" aria-busy={comparison.isPlaceholderData}>
          <Cautions lines={shown.warnings} />
          <CompareTable comparison={shown} onBaseline={onBaseline} onRemove={onRemove} />
          <CompareCharts runs={shown.runs} baseline={shown.baseline_id} theme={theme} />
          <DifferenceTable comparison={shown} />
        </div>
      )}
    </div>
  );
}
