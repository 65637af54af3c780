import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";
import { cancelLaunch, readRun } from "../../api/calls";
import type { Run } from "../../api/types";
import type { Draft } from "../../domain/drafts";
import type { ThemeName } from "../../domain/palette";
import { cautions, isActive } from "../../domain/runText";
import { Button } from "../../widgets/Button";
import { CopyButton } from "../../widgets/CopyButton";
import { Cautions, ErrorNotice, PageFault, SkeletonBoxes, SkeletonLines } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";
import { RunBadge } from "../../widgets/RunBadge";
import { ScrollArea } from "../../widgets/ScrollArea";
import { RunFacts } from "./RunFacts";
import { RunNotes } from "./RunNotes";
import { RunSamples } from "./RunSamples";
import { VerificationView } from "./VerificationView";

interface RunPaneProps {
  id: number;
  theme: ThemeName;
  /** With a cell: it is marked in the picture. */
  onOpenInEditor: (draft: Draft, cell?: { q: number; k: number }) => void;
  onRunAgain: (run: Run) => void;
  /** Shows the form of a launch, filled with what this run was. */
  onEditAndRun: (run: Run) => void;
  onArchive: (run: Run) => void;
  onDelete: (run: Run) => void;
}

/** Everything that is known about one run. */
export function RunPane({ id, ...actions }: RunPaneProps) {
  const run = useQuery({ queryKey: ["run", id], queryFn: ({ signal }) => readRun(id, signal) });
  return (
    <div className="page">
      <p className="crumb">
        <Link href="/runs">
          <Icon name="left" size={12} />
          Runs
        </Link>
        {run.data && <Link href={`/launches/${run.data.launch_id}`}>Launch {run.data.launch_id}</Link>}
      </p>
      {run.isPending && <Waiting id={id} />}
      {run.isError && (
        <PageFault
          error={run.error}
          onRetry={() => run.refetch()}
          actions={
            <Link href="/runs" className="button primary">
              Open the runs table
            </Link>
          }
        />
      )}
      {run.data && <RunBody run={run.data} {...actions} />}
    </div>
  );
}

function Waiting({ id }: { id: number }) {
  return (
    <>
      <div className="page-head">
        <h1>Run {id}</h1>
      </div>
      <SkeletonLines lines={1} height={16} />
      <SkeletonBoxes boxes={2} className="skeleton-columns run-grid" />
    </>
  );
}

function RunBody({ run, theme, ...actions }: Omit<RunPaneProps, "id"> & { run: Run }) {
  const queries = useQueryClient();
  const active = isActive(run);
  const cancel = useMutation({
    mutationFn: () => cancelLaunch(run.launch_id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["run", run.id] }),
  });
  const draft = { source: run.source, values: run.values };
  return (
    <>
      <div className="page-head">
        <h1>{run.name || `Run ${run.id}`}</h1>
        <code className="run-provider">
          {run.provider} #{run.id}
        </code>
        <RunBadge run={run} />
        {run.archived_at !== null && <span className="badge">in the archive</span>}
        {run.tags.map((tag) => (
          <Link key={tag} className="tag" href={`/runs?tag=${encodeURIComponent(tag)}`}>
            {tag}
          </Link>
        ))}
        <span className="grow" />
        <Button icon="refresh" onClick={() => actions.onRunAgain(run)}>
          Run again
        </Button>
        <Button icon="play" onClick={() => actions.onEditAndRun(run)}>
          Edit and run
        </Button>
        <Button icon="pencil" onClick={() => actions.onOpenInEditor(draft)}>
          Open in editor
        </Button>
        {active ? (
          <Button icon="stop" danger busy={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel
          </Button>
        ) : (
          <>
            <Button icon="history" look="quiet" onClick={() => actions.onArchive(run)}>
              {run.archived_at === null ? "Archive" : "Restore"}
            </Button>
            <Button icon="trash" look="quiet" danger onClick={() => actions.onDelete(run)}>
              Delete
            </Button>
          </>
        )}
      </div>
      {cancel.isError && <ErrorNotice error={cancel.error} />}
      {active && (
        <div
          className="progress"
          role="progressbar"
          aria-label="Progress"
          aria-valuenow={Math.round(run.progress * 100)}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <span style={{ width: `${run.progress * 100}%` }} />
        </div>
      )}
      {run.reason && (
        <div className={run.verdict === "failed" || run.verdict === "error" ? "notice bad" : "notice"}>
          <Icon name="info" />
          <span className="grow">{run.reason}</span>
        </div>
      )}
      <Cautions lines={cautions(run)} />
      <div className="run-grid">
        <RunFacts run={run} />
        <div className="run-column">
          <VerificationView run={run} onShow={(cell) => actions.onOpenInEditor(draft, cell)} />
          <RunSamples run={run} theme={theme} />
          <section className="card">
            <h2>Program</h2>
            <ScrollArea label="Source of the program">
              <pre className="source">{run.source.trim()}</pre>
            </ScrollArea>
          </section>
          {run.command && (
            <section className="card">
              <div className="card-head">
                <h2>Reproduce</h2>
                <CopyButton label="Copy" text={() => run.command ?? ""} />
              </div>
              <ScrollArea label="Command">
                <pre className="source">{run.command}</pre>
              </ScrollArea>
            </section>
          )}
          <RunNotes key={run.id} run={run} />
        </div>
      </div>
    </>
  );
}
