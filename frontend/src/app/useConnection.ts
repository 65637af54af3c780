import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { readLanguage } from "../api/calls";
import { ApiError } from "../api/client";

const RETRY_MS = 3000;

/** Whether the server answers. While it does not, it is asked every few seconds; `onBack` then makes good what failed. */
export function useConnection(fault: Error | null, onBack: () => void): { down: boolean; retry: () => void } {
  const queries = useQueryClient();
  const [down, setDown] = useState(false);
  const back = useRef(onBack);
  back.current = onBack;

  useEffect(() => {
    if (unreachable(fault)) setDown(true);
  }, [fault]);

  useEffect(
    () =>
      queries.getQueryCache().subscribe((event) => {
        if (event.type === "updated" && event.action.type === "error" && unreachable(event.action.error)) setDown(true);
      }),
    [queries],
  );

  const retry = useCallback(() => {
    readLanguage().then(
      () => {
        setDown(false);
        back.current();
        void queries.refetchQueries({ predicate: (query) => query.state.status === "error", type: "active" });
      },
      () => {
        // Still away; the next attempt follows.
      },
    );
  }, [queries]);

  useEffect(() => {
    if (!down) return;
    const timer = setInterval(retry, RETRY_MS);
    return () => clearInterval(timer);
  }, [down, retry]);

  return { down, retry };
}

function unreachable(error: unknown): boolean {
  return error instanceof ApiError && error.unreachable;
}
