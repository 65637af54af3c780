/** A comparison as it is asked for, from the one that the server gave last. */

import type { Comparison } from "../api/types";

/** The runs that are still wanted, beside the baseline that is wanted now. Ratios to another baseline are left out, and so
 * are warnings, which may speak of runs that are gone. */
export function shownComparison(last: Comparison, ids: readonly number[], baseline: number | null): Comparison {
  const wanted = baseline ?? ids[0];
  const same = wanted === last.baseline_id && ids.length === last.runs.length;
  const kept = last.runs
    .map((compared, index) => ({ compared, index }))
    .filter(({ compared }) => ids.includes(compared.run.id));
  if (wanted === undefined || (same && kept.length === last.runs.length)) return last;
  return {
    ...last,
    baseline_id: wanted,
    runs: kept.map(({ compared }) =>
      wanted === last.baseline_id
        ? compared
        : {
            ...compared,
            is_reference: compared.run.id === wanted,
            against: null,
            unlike: [],
            ratio: null,
            ratio_low: null,
            ratio_high: null,
            significant: null,
          },
    ),
    fields: last.fields.map((row) => {
      const values = kept.map(({ index }) => row.values[index] ?? "");
      return { ...row, values, differs: new Set(values).size > 1 };
    }),
    warnings: [],
  };
}
