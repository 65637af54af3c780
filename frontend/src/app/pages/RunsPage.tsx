import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import type { RunAction } from "../../api/types";
import { formatRunsView, parseRunsView, type RunsView } from "../../domain/runsQuery";
import { HIDDEN_AT_FIRST } from "../../panes/runs/columns";
import { RunsPane } from "../../panes/runs/RunsPane";
import { readItem, writeItem } from "../storage";
import { useRunActions } from "../useRunActions";

const HIDDEN_KEY = "compilemask.runs.hidden-columns";

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
  const { change } = useRunActions();
  const [busy, setBusy] = useState(false);
  const onBulk = (action: RunAction, tag?: string) => {
    setBusy(true);
    change({ ids: latest.current.selected, action, tag })
      .then(
        () => {
          // What left this list is not selected in it any more.
          if (action !== "tag" && action !== "untag") onView((now) => ({ ...now, selected: [] }));
        },
        () => {},
      )
      .finally(() => setBusy(false));
  };
  const [hidden, setHidden] = useState(readHidden);
  const onHidden = (ids: string[]) => {
    setHidden(ids);
    writeItem(HIDDEN_KEY, JSON.stringify(ids));
  };
  const onShowNew = () => {
    clearNewRuns();
    for (const key of ["runs", "run-facets", "run-groups"]) void queries.invalidateQueries({ queryKey: [key] });
  };
  return (
    <RunsPane
      view={view}
      onView={onView}
      hidden={hidden}
      onHidden={onHidden}
      onBulk={onBulk}
      busy={busy}
      newRuns={newRuns}
      onShowNew={onShowNew}
      onOpen={(run) => navigate(`/runs/${run.id}`)}
    />
  );
}

/** The columns that were hidden last; what cannot be read counts as never chosen. */
function readHidden(): string[] {
  try {
    const kept: unknown = JSON.parse(readItem(HIDDEN_KEY) ?? "null");
    if (Array.isArray(kept) && kept.every((id) => typeof id === "string")) return kept;
  } catch {
    // It was not ours, or damaged.
  }
  return HIDDEN_AT_FIRST;
}
