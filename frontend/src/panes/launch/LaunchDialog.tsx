import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { cancelLaunch, createLaunch, RUNS_AT_ONCE, readEnvironment } from "../../api/calls";
import { estimateLaunch } from "../../api/runCalls";
import type { LaunchCreate, Mask } from "../../api/types";
import type { Draft } from "../../domain/drafts";
import { formatInt } from "../../domain/format";
import { hasEnded } from "../../domain/launchText";
import { Button } from "../../widgets/Button";
import { Dialog } from "../../widgets/Dialog";
import { ErrorNotice } from "../../widgets/Feedback";
import { EstimateView, estimateText } from "./EstimateView";
import { LaunchFields } from "./LaunchForm";
import { LaunchProgress } from "./LaunchProgress";
import { useLaunch } from "./useLaunch";
import { useLaunchForm } from "./useLaunchForm";
import { useSettled } from "./useSettled";

interface LaunchDialogProps {
  draft: Draft;
  program: string;
  /** The mask that is being edited, when there is one: its size stands beside the title. */
  mask?: Mask;
  /** A launch that was sent before, to begin with. */
  initial?: LaunchCreate | null;
  onClose: () => void;
}

const ESTIMATE_PAUSE_MS = 250;

/** Verifies and measures a mask, or a sweep over its numbers, with the providers of this machine. */
export function LaunchDialog({ draft, program, mask, initial = null, onClose }: LaunchDialogProps) {
  const queries = useQueryClient();
  const [frozen] = useState(draft);
  const [launchId, setLaunchId] = useState<number | null>(null);
  const environment = useQuery({
    queryKey: ["environment"],
    queryFn: ({ signal }) => readEnvironment(signal),
    refetchInterval: (query) => (query.state.data?.state === "probing" ? 1000 : false),
  });
  const form = useLaunchForm(frozen, program, environment.data, initial);
  const asked = useSettled(form.body, ESTIMATE_PAUSE_MS);
  const estimate = useQuery({
    queryKey: ["estimate", asked],
    queryFn: ({ signal }) => estimateLaunch(asked as LaunchCreate, signal),
    enabled: asked !== null && launchId === null,
    placeholderData: keepPreviousData,
  });
  const { launch, page, setPage } = useLaunch(launchId);
  const start = useMutation({
    mutationFn: (body: LaunchCreate) => createLaunch(body),
    onSuccess: (created) => {
      queries.setQueryData(["launch", created.id, 0], created);
      setPage(0);
      setLaunchId(created.id);
    },
  });
  const cancel = useMutation({
    mutationFn: (id: number) => cancelLaunch(id),
    onSuccess: (cancelled) => queries.setQueryData(["launch", cancelled.id, 0], cancelled),
  });

  const now = launch.data;
  const ended = now !== undefined && hasEnded(now);
  const told = form.body && estimate.data ? estimateText(estimate.data) : "";
  const foot = now ? (
    <>
      <span className="grow">
        <Link href={`/launches/${now.id}`}>Launch {now.id}, with its log</Link>
      </span>
      {!ended && (
        <Button danger icon="stop" busy={cancel.isPending} onClick={() => cancel.mutate(now.id)}>
          Cancel
        </Button>
      )}
      {ended && <Button onClick={() => setLaunchId(null)}>Edit and run again</Button>}
      {ended && now.counts.total > 1 && now.counts.total <= RUNS_AT_ONCE && (
        <Link className="button" href={`/compare?ids=${now.runs.map((run) => run.id).join(",")}`}>
          Compare
        </Link>
      )}
      <Button look="primary" onClick={onClose}>
        {ended ? "Done" : "Keep running"}
      </Button>
    </>
  ) : (
    <>
      <span className="grow small-text" title={estimate.data?.basis}>
        {told}
      </span>
      <Button onClick={onClose}>Close</Button>
      <Button
        look="primary"
        icon="play"
        busy={start.isPending}
        disabled={form.body === null}
        onClick={() => form.body && start.mutate(form.body)}
      >
        Start
      </Button>
    </>
  );
  const size = mask && `${formatInt(mask.statistics.q_len)} × ${formatInt(mask.statistics.kv_len)}`;
  return (
    <Dialog title={`Run ${program}`} onClose={onClose} foot={foot} head={<span className="muted">{size}</span>}>
      {start.isError && !now && <ErrorNotice error={start.error} />}
      {cancel.isError && !ended && <ErrorNotice error={cancel.error} />}
      {launch.isError && !now && <ErrorNotice error={launch.error} onRetry={() => launch.refetch()} />}
      {now ? (
        <LaunchProgress launch={now} page={page} onPage={setPage} />
      ) : (
        <>
          <LaunchFields environment={environment} form={form} program={program} values={frozen.values} />
          {form.body && <EstimateView estimate={estimate} />}
        </>
      )}
    </Dialog>
  );
}
