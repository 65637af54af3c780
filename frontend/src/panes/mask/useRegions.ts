import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { readRegions } from "../../api/maskCalls";
import type { Mask, RegionSpan } from "../../api/types";
import { alignedWindow } from "../../domain/viewport";
import type { ShownRange } from "./maskView";
import type { ExplainedMask } from "./useExplanation";

export interface AxisRegions {
  queries: readonly RegionSpan[];
  keys: readonly RegionSpan[];
}

/** The regions along both axes: all of them where the mask lists them, else those of the part in view. */
export function useRegions(mask: Mask | null, of: ExplainedMask | null, range: ShownRange | null): AxisRegions {
  const wanted = mask !== null && !mask.regions_shown && of !== null && range !== null;
  const rows = alignedWindow(range?.rows ?? [0, 0]);
  const keys = alignedWindow(range?.keys ?? [0, 0]);
  const answer = useQuery({
    queryKey: ["regions", of, rows, keys],
    queryFn: ({ signal }) =>
      readRegions(
        { ...(of as ExplainedMask), q_start: rows[0], q_stop: rows[1], k_start: keys[0], k_stop: keys[1] },
        signal,
      ),
    enabled: wanted,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 30_000,
  });
  const found = wanted ? answer.data : undefined;
  return useMemo(() => found ?? { queries: mask?.query_regions ?? [], keys: mask?.key_regions ?? [] }, [found, mask]);
}
