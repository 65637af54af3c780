/** A ratio to the baseline in words that need no colour. */

import type { ComparedRun } from "../api/types";

export interface Change {
  kind: "faster" | "slower" | "same" | "none";
  text: string;
  why: string;
}

export function changeOf({ ratio, significant }: Pick<ComparedRun, "ratio" | "significant">): Change {
  if (ratio === null) return { kind: "none", text: "–", why: "One of the two has no speed." };
  if (!significant)
    return {
      kind: "same",
      text: `${ratio.toFixed(2)}× ≈`,
      why: "Within the noise: the spreads touch or the change is below 3 %.",
    };
  return ratio > 1
    ? {
        kind: "faster",
        text: `▲ ${ratio.toFixed(2)}× faster`,
        why: "The spreads do not touch and the change is above 3 %.",
      }
    : {
        kind: "slower",
        text: `▼ ${(1 / ratio).toFixed(2)}× slower`,
        why: "The spreads do not touch and the change is above 3 %.",
      };
}
