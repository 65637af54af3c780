/** Estimates of what a launch will cost. */

import type { Shape } from "../api/types";

/** Two products of head_dim multiply-adds per visible pair and query head: 4 * head_dim operations. */
export function attentionFlops(visiblePairs: number, shape: Shape): number {
  return 4 * shape.head_dim * visiblePairs * shape.batch * shape.num_q_heads;
}

/** Bytes of the fp64 score matrix that verification against the dense reference builds for one head. */
export function denseScoreBytes(qLen: number, kvLen: number): number {
  return 8 * qLen * kvLen;
}
