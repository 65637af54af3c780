import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useState } from "react";
import { listActiveLaunches } from "../api/calls";
import { followEvents } from "../api/events";
import type { Launch, LaunchSummary, Run, RunPage } from "../api/types";
import { withProgress } from "../domain/launchText";

const ACTIVE = ["active-launches"];

/** Follows the server's events: rows in view change in place; rows that are new are only counted. */
export function useLiveRuns(): { activeLaunches: number; newRuns: number; clearNewRuns: () => void } {
  const queries = useQueryClient();
  const active = useQuery({
    queryKey: ACTIVE,
    queryFn: ({ signal }) => listActiveLaunches(signal),
    staleTime: Infinity,
  });
  const [fresh, setFresh] = useState<ReadonlySet<number>>(new Set());

  useEffect(
    () =>
      followEvents({
        launch: (launch) => takeLaunch(queries, launch),
        run: (run) => {
          if (!takeRun(queries, run)) setFresh((now) => (now.has(run.id) ? now : new Set(now).add(run.id)));
        },
        missed: () => {
          void queries.invalidateQueries({ queryKey: ["launch"] });
          void queries.invalidateQueries({ queryKey: ACTIVE });
          void queries.invalidateQueries({ queryKey: ["runs"], predicate: (query) => hasUnfinished(query.state.data) });
        },
      }),
    [queries],
  );

  const clearNewRuns = useCallback(() => setFresh(new Set()), []);
  return { activeLaunches: active.data?.length ?? 0, newRuns: fresh.size, clearNewRuns };
}

function takeLaunch(queries: QueryClient, launch: LaunchSummary): void {
  queries.setQueriesData<Launch>({ queryKey: ["launch", launch.id] }, (known) => known && { ...known, ...launch });
  const unfinished = launch.state === "queued" || launch.state === "running";
  queries.setQueryData<LaunchSummary[]>(ACTIVE, (launches = []) => {
    const others = launches.filter((other) => other.id !== launch.id);
    return unfinished ? [...others, launch] : others;
  });
}

/** Puts the run where it is shown; false when it is newer than every table in memory. */
function takeRun(queries: QueryClient, run: Run): boolean {
  queries.setQueryData(["run", run.id], run);
  queries.setQueriesData<Launch>(
    { queryKey: ["launch", run.launch_id] },
    (launch) =>
      launch && withProgress({ ...launch, runs: launch.runs.map((row) => (row.id === run.id ? run : row)) }, run),
  );
  queries.setQueryData<LaunchSummary[]>(ACTIVE, (launches) => launches?.map((launch) => withProgress(launch, run)));
  let newest = 0;
  for (const [, page] of queries.getQueriesData<RunPage>({ queryKey: ["runs"] })) {
    for (const row of page?.items ?? []) newest = Math.max(newest, row.id);
  }
  queries.setQueriesData<RunPage>({ queryKey: ["runs"] }, (page) =>
    page ? { ...page, items: page.items.map((row) => (row.id === run.id ? run : row)) } : page,
  );
  return run.id <= newest;
}

function hasUnfinished(data: unknown): boolean {
  return (data as RunPage | undefined)?.items.some((run) => run.state === "queued" || run.state === "running") ?? false;
}
