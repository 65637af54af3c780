import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef } from "react";
import { useLocation, useSearch } from "wouter";
import { formatRunsView, parseRunsView, type RunsView } from "../../domain/runsQuery";
import { RunsPane } from "../../panes/runs/RunsPane";

/** The table of runs; everything that it shows stands in the address. */
export default function RunsPage({ newRuns, clearNewRuns }: { newRuns: number; clearNewRuns: () => void }) {
  const search = useSearch();
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const view = parseRunsView(search);
  const latest = useRef(view);
  latest.current = view;

  const onView = useCallback(
    (change: (view: RunsView) => RunsView) => {
      const text = formatRunsView(change(latest.current));
      navigate(text ? `/runs?${text}` : "/runs", { replace: true });
    },
    [navigate],
  );
  const onShowNew = () => {
    clearNewRuns();
    void queries.invalidateQueries({ queryKey: ["runs"] });
  };
  return (
    <RunsPane
      view={view}
      onView={onView}
      newRuns={newRuns}
      onShowNew={onShowNew}
      onOpen={(run) => navigate(`/runs/${run.id}`)}
    />
  );
}
