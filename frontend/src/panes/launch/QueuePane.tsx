import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";
import { cancelLaunch, listActiveLaunches } from "../../api/calls";
import { groupRuns } from "../../api/runCalls";
import type { LaunchSummary, RunGroup } from "../../api/types";
import { formatAge, formatInt, plural } from "../../domain/format";
import { hasEnded, launchText } from "../../domain/launchText";
import { Button } from "../../widgets/Button";
import { EmptyState, ErrorNotice, SkeletonBoxes } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";
import { useToast } from "../../widgets/Toasts";
import { LaunchState } from "./LaunchState";

const CATCH_UP_MS = 5000;
const MOST_ENDED = 30;

/** What runs, what waits in which order, and what ran last. */
export function QueuePane() {
  const active = useQuery({
    queryKey: ["active-launches"],
    queryFn: ({ signal }) => listActiveLaunches(signal),
    refetchInterval: (query) => (query.state.data?.length ? CATCH_UP_MS : false),
  });
  const ids = active.data?.map((launch) => launch.id).join(",") ?? "";
  // Lately: of launches that ended only counts are read, since a sweep has hundreds of runs.
  const recent = useQuery({
    queryKey: ["run-groups", {}, "launch_id", ids],
    queryFn: ({ signal }) => groupRuns({}, "launch_id", signal),
  });
  const isOpen = new Set(active.data?.map((launch) => String(launch.id)));
  const ended = (recent.data?.groups ?? [])
    .filter((group) => !isOpen.has(group.value ?? ""))
    .sort((a, b) => Number(b.value) - Number(a.value))
    .slice(0, MOST_ENDED);
  const open = [...(active.data ?? [])].sort((a, b) => (a.position ?? 0) - (b.position ?? 0));
  return (
    <div className="page">
      <div className="page-head">
        <h1>Queue</h1>
        {open.length > 0 && <span className="muted">{plural(open.length, "launch", "launches")}</span>}
        <span className="grow" />
        <Link href="/runs" className="button">
          All runs
        </Link>
      </div>
      {active.isError && <ErrorNotice error={active.error} onRetry={() => active.refetch()} />}
      {active.isPending && <SkeletonBoxes boxes={3} className="skeleton-rows" />}
      {active.data && open.length === 0 && (
        <EmptyState
          icon="clock"
          title="Nothing runs now"
          actions={
            <Link href="/" className="button primary">
              Open the editor
            </Link>
          }
        >
          Launches run one after the other, each in a process of its own. Press Run in the editor to start one.
        </EmptyState>
      )}
      {open.length > 0 && <LaunchList launches={open} label="Launches that run or wait" />}
      {recent.isError && <ErrorNotice error={recent.error} onRetry={() => recent.refetch()} />}
      {ended.length > 0 && (
        <>
          <h2 className="section-title">Ended lately</h2>
          <ul className="launch-list" aria-label="Launches that ended">
            {ended.map((group) => (
              <EndedLine key={group.value} group={group} />
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function LaunchList({ launches, label }: { launches: readonly LaunchSummary[]; label: string }) {
  return (
    <ul className="launch-list" aria-label={label}>
      {launches.map((launch) => (
        <LaunchLine key={launch.id} launch={launch} />
      ))}
    </ul>
  );
}

function EndedLine({ group }: { group: RunGroup }) {
  const failed = group.failed > 0 ? `, ${formatInt(group.failed)} wrong or failed` : "";
  const all = group.passed === group.count;
  return (
    <li className="launch-line ended" data-launch={group.value}>
      <span className={all ? "badge good" : group.failed > 0 ? "badge warn" : "badge"}>
        <Icon name={all ? "check" : group.failed > 0 ? "warning" : "stop"} size={12} />
        {formatInt(group.passed)} of {formatInt(group.count)} passed
      </span>
      <span className="launch-name">
        <Link href={`/launches/${group.value}`} className="truncate">
          {group.label}
        </Link>
        <small className="muted">{`${plural(group.count, "run")}${failed}`}</small>
      </span>
      <time className="muted small-text" dateTime={group.latest_at}>
        {formatAge(group.latest_at, Date.now())}
      </time>
    </li>
  );
}

function LaunchLine({ launch }: { launch: LaunchSummary }) {
  const queries = useQueryClient();
  const toast = useToast();
  const cancel = useMutation({
    mutationFn: () => cancelLaunch(launch.id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["active-launches"] }),
    onError: (error) => toast({ text: error.message }),
  });
  const share = launch.progress;
  return (
    <li className="launch-line" data-launch={launch.id}>
      <LaunchState launch={launch} />
      <span className="launch-name">
        <Link href={`/launches/${launch.id}`} className="truncate">
          {launch.name} <span className="muted">#{launch.id}</span>
        </Link>
        <small className="muted">{launchText(launch)}</small>
      </span>
      <span className="muted small-text hide-small">{plural(launch.counts.total, "run")}</span>
      <time className="muted small-text" dateTime={launch.created_at}>
        {formatAge(launch.created_at, Date.now())}
      </time>
      {!hasEnded(launch) && (
        <Button small look="quiet" icon="stop" busy={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel
        </Button>
      )}
      {launch.state === "running" && (
        <div
          className="progress"
          role="progressbar"
          aria-label={`Progress of launch ${launch.id}`}
          aria-valuenow={Math.round(share * 100)}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <span style={{ width: `${share * 100}%` }} />
        </div>
      )}
    </li>
  );
}
