/** How much work a run does for each byte that it must move at least, and what its device could do. */

import type { Run } from "../api/types";

const ITEM_BYTES: Record<Run["dtype"], number> = { bfloat16: 2, float16: 2, float32: 4 };

export interface Roof {
  /** Dense, without sparsity, in the run's dtype. */
  tflops: number;
  bytesPerSecond: number;
}

/** From the vendor's data sheets: bfloat16 and float16 on tensor cores, float32 outside of them. */
const ROOFS: readonly { name: RegExp; half: number; float32: number; bytesPerSecond: number }[] = [
  { name: /\bB200\b/, half: 2250, float32: 75, bytesPerSecond: 8e12 },
  { name: /\bH200\b/, half: 989, float32: 67, bytesPerSecond: 4.8e12 },
  { name: /\bH100\b.*\b(SXM|HBM3)/, half: 989, float32: 67, bytesPerSecond: 3.35e12 },
  { name: /\bH100\b.*PCIe/, half: 756, float32: 51, bytesPerSecond: 2e12 },
  { name: /\bA100\b.*80GB/, half: 312, float32: 19.5, bytesPerSecond: 2e12 },
  { name: /\bA100\b/, half: 312, float32: 19.5, bytesPerSecond: 1.555e12 },
  { name: /\bL40S\b/, half: 362, float32: 91.6, bytesPerSecond: 0.864e12 },
];

export function roofOf({ device, dtype }: Pick<Run, "device" | "dtype">): Roof | null {
  const known = ROOFS.find(({ name }) => name.test(device ?? ""));
  if (!known) return null;
  return { tflops: dtype === "float32" ? known.float32 : known.half, bytesPerSecond: known.bytesPerSecond };
}

/** Bytes of the tensors, each moved once: q, k, v, o and lse; for the backward these and do, dq, dk, dv. */
export function leastBytes(
  run: Pick<Run, "batch" | "num_q_heads" | "num_kv_heads" | "q_len" | "kv_len" | "head_dim" | "dtype" | "direction">,
): number {
  const queries = run.batch * run.num_q_heads * run.q_len;
  const keys = run.batch * run.num_kv_heads * run.kv_len;
  const item = ITEM_BYTES[run.dtype];
  const forward = (2 * queries + 2 * keys) * run.head_dim * item + 4 * queries;
  const backward = (4 * queries + 4 * keys) * run.head_dim * item + 4 * queries;
  switch (run.direction) {
    case "forward":
      return forward;
    case "backward":
      return backward;
    case "forward+backward":
      return forward + backward;
  }
}

/** FLOP for each byte, from the measured rate and time; null without a speed. */
export function runIntensity(run: Run): number | null {
  if (run.tflops === null || run.median_ms === null) return null;
  return (run.tflops * 1e9 * run.median_ms) / leastBytes(run);
}
