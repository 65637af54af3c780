/** A launch in words, and its runs as cases. */

import type { Launch, LaunchCreate, Run } from "../api/types";
import { plural } from "./format";
import { shapeText, sizeText } from "./runText";
import { NO_SWEEP } from "./sweep";
import { summarize } from "./values";

export function hasEnded({ state }: Pick<Launch, "state">): boolean {
  return state !== "queued" && state !== "running";
}

export function launchText({ state, position, reason, runs }: Launch): string {
  const passed = runs.filter((run) => run.verdict === "passed").length;
  const finished = runs.filter((run) => run.state !== "queued" && run.state !== "running").length;
  switch (state) {
    case "queued":
      return position ? `Waiting: ${plural(position - 1, "launch", "launches")} in front of it.` : "Waiting to start.";
    case "running":
      return runs.length > 1
        ? `Running in a process of its own: ${finished} of ${runs.length} runs are finished.`
        : "Running in a process of its own.";
    case "done":
      return `Finished: ${passed} of ${runs.length} passed.`;
    case "failed":
      return reason ?? "The launch failed.";
    case "cancelled":
      return "Cancelled.";
    case "lost":
      return reason ?? "The server stopped while this was running.";
  }
}

/** How much of a launch is done, 0 to 1. */
export function launchProgress({ runs }: Pick<Launch, "runs">): number {
  const done = runs.map((run) => (run.state === "queued" ? 0 : run.state === "running" ? run.progress : 1));
  return done.length === 0 ? 0 : done.reduce((sum, part) => sum + part, 0) / done.length;
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
