import { useQuery } from "@tanstack/react-query";
import { readRules } from "../api/maskCalls";
import type { RuleParts } from "../api/types";
import { useRested } from "./useRested";
import type { MaskOrigin } from "./workspace";

/** While somebody types, the rule under the cursor changes with each key: reading it would only slow the picture. */
const PAUSE_MS = 200;

/** The rules of what was compiled. shown: the picture shows them. pointed: somebody points at the text of one, maybe while typing. */
export function useRuleParts(
  of: MaskOrigin | null,
  shown: boolean,
  pointed: boolean,
): { rules: RuleParts | null; fault: string | null; again: () => Promise<unknown> } {
  const rested = useRested(of, shown ? 0 : PAUSE_MS);
  const answer = useQuery({
    queryKey: ["rules", of],
    queryFn: ({ signal }) => readRules(of as MaskOrigin, signal),
    enabled: rested !== null && (shown || pointed),
    staleTime: Infinity,
    gcTime: 60_000,
  });
  return {
    rules: answer.data ?? null,
    fault: answer.error ? answer.error.message : null,
    again: () => (answer.data ? answer.refetch() : Promise.resolve()),
  };
}
