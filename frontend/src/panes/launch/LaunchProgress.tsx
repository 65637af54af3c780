import type { Launch, Run } from "../../api/types";
import { formatError, formatMs, formatRate } from "../../domain/format";
import { errorText } from "../../domain/runText";
import { RunBadge } from "../../widgets/RunBadge";

/** One card for each provider: its stage while it runs, then verdict, error and speed, in this order. */
export function LaunchProgress({ launch }: { launch: Launch }) {
  return (
    <div className="launch-progress">
      <p className="muted" role="status">
        {launchText(launch)}
      </p>
      <ul className="result-cards">
        {launch.runs.map((run) => (
          <li key={run.id} className="result-card">
            <ResultCard run={run} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function launchText({ state, position, reason, runs }: Launch): string {
  const passed = runs.filter((run) => run.verdict === "passed").length;
  switch (state) {
    case "queued":
      return position ? `Waiting: ${position} before it in the queue.` : "Waiting to start.";
    case "running":
      return "Running in a process of its own.";
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

function ResultCard({ run }: { run: Run }) {
  const active = run.state === "running" || run.state === "queued";
  return (
    <>
      <header>
        <code className="truncate">{run.provider}</code>
        <RunBadge run={run} />
      </header>
      {active && (
        <div
          className="progress"
          role="progressbar"
          aria-label={`Progress of ${run.provider}`}
          aria-valuenow={Math.round(run.progress * 100)}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <span style={{ width: `${run.progress * 100}%` }} />
        </div>
      )}
      {!active && run.verdict !== "passed" && run.reason && <p className="reason">{run.reason}</p>}
      {!active && (
        <dl>
          {run.tolerance !== null && (
            <div>
              <dt>error</dt>
              <dd>
                {errorText(run)} <small>of {formatError(run.tolerance)} allowed</small>
              </dd>
            </div>
          )}
          {run.verdict === "passed" && run.median_ms !== null && (
            <div>
              <dt>median</dt>
              <dd>
                {formatMs(run.median_ms)}{" "}
                {run.p20_ms !== null && run.p80_ms !== null && (
                  <small>
                    {formatMs(run.p20_ms)} – {formatMs(run.p80_ms)}
                  </small>
                )}
              </dd>
            </div>
          )}
          {run.verdict === "passed" && run.tflops !== null && (
            <div>
              <dt>rate</dt>
              <dd>{formatRate(run.tflops)}</dd>
            </div>
          )}
        </dl>
      )}
    </>
  );
}
