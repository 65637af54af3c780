import { Link } from "wouter";
import { RUNS_AT_ONCE } from "../../api/calls";
import type { Launch, Run } from "../../api/types";
import { formatError, formatMs, formatMsRange, formatRate } from "../../domain/format";
import { caseText, launchText } from "../../domain/launchText";
import { errorText, hasSpeed, isActive } from "../../domain/runText";
import { Pager } from "../../widgets/Pager";
import { RunBadge } from "../../widgets/RunBadge";
import { ScrollArea } from "../../widgets/ScrollArea";

const MOST_CARDS = 8;

interface LaunchProgressProps {
  launch: Launch;
  page: number;
  onPage: (page: number) => void;
}

/** The runs of a launch: a card each, or a line each when they are many or of several cases. */
export function LaunchProgress({ launch, page, onPage }: LaunchProgressProps) {
  const cards = launch.counts.total <= MOST_CARDS && new Set(launch.runs.map(caseText)).size <= 1;
  return (
    <div className="launch-progress">
      <p className="muted" role="status">
        {launchText(launch)}
      </p>
      {cards ? (
        <ul className="result-cards">
          {launch.runs.map((run) => (
            <li key={run.id} className="result-card">
              <ResultCard run={run} />
            </li>
          ))}
        </ul>
      ) : (
        <>
          <ScrollArea label="Runs of this launch" className="table-frame">
            <CaseLines runs={launch.runs} />
          </ScrollArea>
          <Pager
            what="runs"
            total={launch.counts.total}
            offset={launch.offset}
            shown={launch.runs.length}
            page={page}
            size={RUNS_AT_ONCE}
            onPage={onPage}
          />
        </>
      )}
    </div>
  );
}

function CaseLines({ runs }: { runs: readonly Run[] }) {
  return (
    <table className="runs-table case-lines">
      <thead>
        <tr>
          <th scope="col">State</th>
          <th scope="col">Case</th>
          <th scope="col">Provider</th>
          <th scope="col" className="numeric-column">
            Error / allowed
          </th>
          <th scope="col" className="numeric-column">
            Median
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <tr key={run.id}>
            <td>
              <RunBadge run={run} />
            </td>
            <td>
              <Link href={`/runs/${run.id}`} className="truncate cell" title={run.reason ?? caseText(run)}>
                {caseText(run)}
              </Link>
            </td>
            <td>
              <code>{run.provider}</code>
            </td>
            <td className="numeric-column">
              {run.tolerance === null ? "–" : `${errorText(run)} / ${formatError(run.tolerance)}`}
            </td>
            <td className="numeric-column">
              {run.state === "running" ? <ProgressBar run={run} /> : hasSpeed(run) ? formatMs(run.median_ms) : "–"}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function ProgressBar({ run }: { run: Run }) {
  return (
    <div
      className="progress"
      role="progressbar"
      aria-label={`Progress of ${run.provider}, run ${run.id}`}
      aria-valuenow={Math.round(run.progress * 100)}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <span style={{ width: `${run.progress * 100}%` }} />
    </div>
  );
}

function ResultCard({ run }: { run: Run }) {
  const active = isActive(run);
  return (
    <>
      <header>
        <code className="truncate">{run.provider}</code>
        <RunBadge run={run} />
      </header>
      {active && <ProgressBar run={run} />}
      {!active && run.verdict !== "passed" && run.reason && <p className="reason">{run.reason}</p>}
      {!active && (
        <dl>
          {run.tolerance !== null && (
            <div>
              <dt>Error</dt>
              <dd>
                {errorText(run)} <small>of {formatError(run.tolerance)} allowed</small>
              </dd>
            </div>
          )}
          {run.verdict === "passed" && run.median_ms !== null && (
            <div>
              <dt>Median</dt>
              <dd>
                {formatMs(run.median_ms)}{" "}
                {run.p20_ms !== null && run.p80_ms !== null && <small>{formatMsRange(run.p20_ms, run.p80_ms)}</small>}
              </dd>
            </div>
          )}
          {run.verdict === "passed" && run.tflops !== null && (
            <div>
              <dt>Rate</dt>
              <dd>{formatRate(run.tflops)}</dd>
            </div>
          )}
        </dl>
      )}
    </>
  );
}
