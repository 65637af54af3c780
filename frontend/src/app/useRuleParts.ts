import { useQuery } from "@tanstack/react-query";
import { readRules } from "../api/maskCalls";
import type { RuleParts } from "../api/types";
import type { MaskOrigin } from "./workspace";

/** The rules of what was compiled, read once somebody wants to see them. */
export function useRuleParts(
  of: MaskOrigin | null,
  wanted: boolean,
): { rules: RuleParts | null; fault: string | null; again: () => Promise<unknown> } {
  const answer = useQuery({
    queryKey: ["rules", of],
    queryFn: ({ signal }) => readRules(of as MaskOrigin, signal),
    enabled: wanted && of !== null,
    staleTime: Infinity,
    gcTime: 60_000,
  });
  return {
    rules: answer.data ?? null,
    fault: answer.error ? answer.error.message : null,
    again: () => (answer.data ? answer.refetch() : Promise.resolve()),
  };
}
