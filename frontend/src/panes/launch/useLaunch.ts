import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { RUNS_AT_ONCE, readLaunch } from "../../api/calls";
import type { Launch } from "../../api/types";
import { hasEnded } from "../../domain/launchText";

/** Events bring progress at once; this catches up when one was missed. */
const CATCH_UP_MS = 5000;

/** A launch and one page of its runs, followed until it ends. */
export function useLaunch(id: number | null): {
  launch: UseQueryResult<Launch>;
  page: number;
  setPage: (page: number) => void;
} {
  const [page, setPage] = useState(0);
  const offset = page * RUNS_AT_ONCE;
  const launch = useQuery({
    queryKey: ["launch", id, offset],
    queryFn: ({ signal }) => readLaunch(id ?? 0, offset, signal),
    enabled: id !== null,
    placeholderData: (before) => (before?.id === id ? before : undefined),
    refetchInterval: (query) => (query.state.data && hasEnded(query.state.data) ? false : CATCH_UP_MS),
  });
  return { launch, page, setPage };
}
