/** A launch in words, and its runs as cases. */

import type { LaunchCreate, LaunchSummary, Run } from "../api/types";
import { plural } from "./format";
import { shapeText, sizeText } from "./runText";
import { NO_SWEEP } from "./sweep";
import { summarize } from "./values";

export function hasEnded({ state }: Pick<LaunchSummary, "state">): boolean {
  return state !== "queued" && state !== "running";
}

export function launchText({ state, position, reason, counts }: LaunchSummary): string {
  switch (state) {
    case "queued":
      return position ? `Waiting: ${plural(position - 1, "launch", "launches")} in front of it.` : "Waiting to start.";
    case "running":
      return counts.total > 1
        ? `Running in a process of its own: ${counts.finished} of ${counts.total} runs are finished.`
        : "Running in a process of its own.";
    case "done":
      return `Finished: ${counts.passed} of ${counts.total} passed.`;
    case "failed":
      return reason ?? "The launch failed.";
    case "cancelled":
      return "Cancelled.";
    case "lost":
      return reason ?? "The server stopped while this was running.";
  }
}

/** A launch after one of its runs, the one that is measured, came further; that runs end is told with the launch itself. */
export function withProgress<L extends LaunchSummary>(launch: L, run: Run): L {
  if (launch.id !== run.launch_id || run.state !== "running") return launch;
  const { finished, total } = launch.counts;
  return { ...launch, progress: (finished + run.progress) / Math.max(1, total) };
}

/** What a run was, without its provider. */
export function caseText(run: Run): string {
  const parts = [summarize(run.values) || sizeText(run), shapeText(run), run.dtype];
  if (run.direction !== "forward") parts.push(run.direction);
  return parts.join(" · ");
}

/** The launch that does the same as one run did. */
export function requestOf(run: Run): LaunchCreate {
  const { source, values, dtype, direction, seed, name, tags, batch, num_q_heads, num_kv_heads, head_dim } = run;
  return {
    source,
    values,
    providers: [run.provider],
    shape: { batch, num_q_heads, num_kv_heads, head_dim },
    dtype,
    direction,
    seed,
    name,
    tags,
    sweep: NO_SWEEP,
  };
}
