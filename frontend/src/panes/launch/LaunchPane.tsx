import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { cancelLaunch, createLaunch, RUNS_AT_ONCE } from "../../api/calls";
import { readLaunchLog } from "../../api/runCalls";
import type { Launch, LaunchCreate } from "../../api/types";
import { formatAge } from "../../domain/format";
import { hasEnded } from "../../domain/launchText";
import { Button } from "../../widgets/Button";
import { ErrorNotice, PageFault, SkeletonBoxes } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";
import { LaunchDialog } from "./LaunchDialog";
import { LaunchProgress } from "./LaunchProgress";
import { LaunchState } from "./LaunchState";
import { useLaunch } from "./useLaunch";

/** So many runs can be compared; the first page has them all. */
const MOST_COMPARED = RUNS_AT_ONCE;
const LOG_MS = 1500;

/** One launch: where it stands, its runs as they come, what its workers print. */
export function LaunchPane({ id, onStarted }: { id: number; onStarted: (id: number) => void }) {
  const { launch, page, setPage } = useLaunch(id);
  return (
    <div className="page">
      <p className="crumb">
        <Link href="/launches">
          <Icon name="left" size={12} />
          Queue
        </Link>
      </p>
      {launch.isPending && (
        <>
          <div className="page-head">
            <h1>Launch {id}</h1>
          </div>
          <SkeletonBoxes boxes={3} className="result-cards" />
        </>
      )}
      {launch.isError && (
        <PageFault
          error={launch.error}
          onRetry={() => launch.refetch()}
          actions={
            <Link href="/launches" className="button primary">
              Open the queue
            </Link>
          }
        />
      )}
      {launch.data && <LaunchBody launch={launch.data} page={page} onPage={setPage} onStarted={onStarted} />}
    </div>
  );
}

interface LaunchBodyProps {
  launch: Launch;
  page: number;
  onPage: (page: number) => void;
  onStarted: (id: number) => void;
}

function LaunchBody({ launch, page, onPage, onStarted }: LaunchBodyProps) {
  const queries = useQueryClient();
  const [editing, setEditing] = useState(false);
  const ended = hasEnded(launch);
  const cancel = useMutation({
    mutationFn: () => cancelLaunch(launch.id),
    onSuccess: (now) => queries.setQueryData(["launch", launch.id, 0], now),
  });
  const again = useMutation({
    mutationFn: (request: LaunchCreate) => createLaunch(request),
    onSuccess: (created) => {
      queries.setQueryData(["launch", created.id, 0], created);
      onStarted(created.id);
    },
  });
  const { request } = launch;
  const share = launch.progress;
  return (
    <div className="launch-page">
      <div className="page-head">
        <h1>{launch.name}</h1>
        <code className="run-provider">launch {launch.id}</code>
        <LaunchState launch={launch} />
        <span className="muted small-text">{formatAge(launch.created_at, Date.now())}</span>
        <span className="grow" />
        {!ended && (
          <Button icon="stop" danger busy={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel
          </Button>
        )}
        {request && (
          <>
            <Button icon="refresh" busy={again.isPending} onClick={() => again.mutate(request)}>
              Run again
            </Button>
            <Button icon="pencil" onClick={() => setEditing(true)}>
              Edit and run
            </Button>
          </>
        )}
        {ended && launch.counts.total > 1 && launch.counts.total <= MOST_COMPARED && (
          <Link className="button primary" href={`/compare?ids=${launch.runs.map((run) => run.id).join(",")}`}>
            <Icon name="compare" size={14} />
            Compare
          </Link>
        )}
        <Link className="button" href={`/runs?launch=${launch.id}`}>
          In the table
        </Link>
      </div>
      {cancel.isError && !ended && <ErrorNotice error={cancel.error} />}
      {again.isError && <ErrorNotice error={again.error} />}
      {!ended && (
        <div
          className="progress"
          role="progressbar"
          aria-label="Progress of the launch"
          aria-valuenow={Math.round(share * 100)}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <span style={{ width: `${share * 100}%` }} />
        </div>
      )}
      <LaunchProgress launch={launch} page={page} onPage={onPage} />
      <WorkerLog launch={launch} />
      {editing && request && (
        <LaunchDialog
          draft={{ source: request.source, values: request.values }}
          program={launch.runs[0]?.mask_name ?? launch.name}
          initial={request}
          onClose={() => setEditing(false)}
        />
      )}
    </div>
  );
}

/** What the workers printed, followed to its end while it grows unless somebody scrolled up. */
function WorkerLog({ launch }: { launch: Launch }) {
  const ended = hasEnded(launch);
  const holder = useRef<HTMLElement>(null);
  const log = useQuery({
    queryKey: ["launch-log", launch.id, launch.state],
    queryFn: ({ signal }) => readLaunchLog(launch.id, signal),
    refetchInterval: ended ? false : LOG_MS,
  });
  const text = log.data?.text ?? "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the text that makes it longer
  useEffect(() => {
    const element = holder.current;
    if (element && element.scrollHeight - element.scrollTop - element.clientHeight < 120)
      element.scrollTop = element.scrollHeight;
  }, [text]);
  return (
    <section className="card">
      <h2>Worker's log</h2>
      {log.isError && <ErrorNotice error={log.error} onRetry={() => log.refetch()} />}
      {log.data?.cut && <p className="muted small-text">Only its end was kept.</p>}
      {log.data && text === "" && (
        <p className="muted">{ended ? "The workers printed nothing." : "Nothing has been printed yet."}</p>
      )}
      {text !== "" && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section ref={holder} className="scroll log" tabIndex={0} aria-label="Text of the log">
          <pre className="source">{text}</pre>
        </section>
      )}
    </section>
  );
}
