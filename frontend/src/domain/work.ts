/** Estimates of what a launch will cost. */

import type { Shape } from "../api/types";

/** Two products of head_dim multiply-adds per visible pair and query head: 4 * head_dim operations. */
export function attentionFlops(visiblePairs: number, shape: Shape): number {
  return 4 * shape.head_dim * visiblePairs * shape.batch * shape.num_q_heads;
}
