import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { ApiError } from "../../api/client";
import type { Mask } from "../../api/types";

/** An answer about a mask; one that failed is asked for again once the mask was compiled again. */
export function useMaskAnswer<T>(
  mask: Mask,
  key: readonly unknown[],
  read: (signal: AbortSignal) => Promise<T>,
  wanted = true,
) {
  const answer = useQuery({
    queryKey: ["mask", mask.hash, ...key],
    queryFn: ({ signal }) => read(signal),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    enabled: wanted,
  });
  const { isError, refetch } = answer;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the new answer for the same mask is what matters
  useEffect(() => {
    if (isError) void refetch();
  }, [mask]);
  return answer;
}

export function isForgotten(error: Error): boolean {
  return error instanceof ApiError && error.code === "mask_unknown";
}
