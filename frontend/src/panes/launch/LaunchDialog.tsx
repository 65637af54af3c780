import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { cancelLaunch, createLaunch, readEnvironment, readLaunch } from "../../api/calls";
import type { LaunchCreate, Mask } from "../../api/types";
import type { Draft } from "../../domain/drafts";
import { formatFlops, formatInt } from "../../domain/format";
import { attentionFlops } from "../../domain/work";
import { Button } from "../../widgets/Button";
import { Dialog } from "../../widgets/Dialog";
import { ErrorNotice } from "../../widgets/Feedback";
import { type LaunchChoice, LaunchForm } from "./LaunchForm";
import { LaunchProgress } from "./LaunchProgress";

interface LaunchDialogProps {
  draft: Draft;
  program: string;
  mask: Mask;
  onClose: () => void;
}

const ENDED = ["done", "failed", "cancelled", "lost"];
/** Events bring progress at once; this catches up when one was missed. */
const CATCH_UP_MS = 5000;

/** Verifies and measures the mask that is being edited, with the providers of this machine. */
export function LaunchDialog({ draft, program, mask, onClose }: LaunchDialogProps) {
  const queries = useQueryClient();
  const [frozen] = useState(draft);
  const [choice, setChoice] = useState<LaunchChoice | null>(null);
  const [launchId, setLaunchId] = useState<number | null>(null);
  const environment = useQuery({
    queryKey: ["environment"],
    queryFn: ({ signal }) => readEnvironment(signal),
    refetchInterval: (query) => (query.state.data?.state === "probing" ? 1000 : false),
  });
  const launch = useQuery({
    queryKey: ["launch", launchId],
    queryFn: ({ signal }) => readLaunch(launchId ?? 0, signal),
    enabled: launchId !== null,
    refetchInterval: (query) => (query.state.data && ENDED.includes(query.state.data.state) ? false : CATCH_UP_MS),
  });
  const start = useMutation({
    mutationFn: (body: LaunchCreate) => createLaunch(body),
    onSuccess: (created) => {
      queries.setQueryData(["launch", created.id], created);
      setLaunchId(created.id);
    },
  });
  const cancel = useMutation({
    mutationFn: (id: number) => cancelLaunch(id),
    onSuccess: (cancelled) => queries.setQueryData(["launch", cancelled.id], cancelled),
  });

  const now = launch.data;
  const ended = now !== undefined && ENDED.includes(now.state);
  const { q_len, kv_len, visible_pairs } = mask.statistics;
  const work = choice ? attentionFlops(visible_pairs, choice.shape) : null;

  const foot = now ? (
    <>
      <span className="grow">
        <Link href={`/runs?q=${encodeURIComponent(now.name)}`}>Open the runs table</Link>
      </span>
      {!ended && (
        <Button danger icon="stop" busy={cancel.isPending} onClick={() => cancel.mutate(now.id)}>
          Cancel
        </Button>
      )}
      {ended && <Button onClick={() => setLaunchId(null)}>Run again</Button>}
      {ended && now.runs.length > 1 && (
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
      <span className="grow">
        {work !== null && choice && `About ${formatFlops(work)} a pass, ${formatInt(visible_pairs)} visible pairs`}
      </span>
      <Button onClick={onClose}>Close</Button>
      <Button
        look="primary"
        icon="play"
        busy={start.isPending}
        disabled={!choice || choice.providers.length === 0}
        onClick={() =>
          choice &&
          start.mutate({
            ...frozen,
            ...choice,
            direction: "forward",
            tags: [],
            sweep: { values: {}, together: false, batches: [], head_dims: [], dtypes: [], directions: [] },
          })
        }
      >
        Start
      </Button>
    </>
  );

  return (
    <Dialog
      title={`Run ${program}`}
      onClose={onClose}
      foot={foot}
      head={<span className="muted">{`${formatInt(q_len)} × ${formatInt(kv_len)}`}</span>}
    >
      {start.isError && !now && <ErrorNotice error={start.error} />}
      {cancel.isError && !ended && <ErrorNotice error={cancel.error} />}
      {launch.isError && !now && <ErrorNotice error={launch.error} onRetry={() => launch.refetch()} />}
      {now ? (
        <LaunchProgress launch={now} />
      ) : (
        <LaunchForm environment={environment} program={program} onChoice={setChoice} />
      )}
    </Dialog>
  );
}
