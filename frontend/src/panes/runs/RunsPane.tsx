import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";
import { cancelLaunch, listPresets, listRuns, readEnvironment } from "../../api/calls";
import type { Run } from "../../api/types";
import { formatInt, plural } from "../../domain/format";
import { hasFilters, PAGE_SIZES, type RunsQuery, type RunsView } from "../../domain/runsQuery";
import { Button } from "../../widgets/Button";
import { EmptyState, ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";
import { ScrollArea } from "../../widgets/ScrollArea";
import { useToast } from "../../widgets/Toasts";
import { RunsFilters } from "./RunsFilters";
import { RunsTable } from "./RunsTable";

interface RunsPaneProps {
  view: RunsView;
  onView: (change: (view: RunsView) => RunsView) => void;
  newRuns: number;
  onShowNew: () => void;
  onOpen: (run: Run) => void;
}

/** The stored runs: filtered, sorted and paged by the server, as the address says. */
export function RunsPane({ view, onView, newRuns, onShowNew, onOpen }: RunsPaneProps) {
  const queries = useQueryClient();
  const toast = useToast();
  const { query, selected } = view;
  const runs = useQuery({
    queryKey: ["runs", query],
    queryFn: ({ signal }) => listRuns(query, signal),
    placeholderData: keepPreviousData,
  });
  const presets = useQuery({
    queryKey: ["presets"],
    queryFn: ({ signal }) => listPresets(signal),
    staleTime: Infinity,
  });
  const environment = useQuery({
    queryKey: ["environment"],
    queryFn: ({ signal }) => readEnvironment(signal),
    staleTime: 60_000,
  });
  const cancel = useMutation({
    mutationFn: (run: Run) => cancelLaunch(run.launch_id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["runs"] }),
    onError: (error) => toast({ text: error.message }),
  });
  const change = (part: Partial<RunsQuery>) =>
    onView((now) => ({ ...now, query: { ...now.query, offset: 0, ...part } }));

  return (
    <div className="page">
      <div className="page-head">
        <h1>Runs</h1>
        {runs.data && <span className="muted">{formatInt(runs.data.total)}</span>}
        {newRuns > 0 && (
          <button type="button" className="pill" onClick={onShowNew}>
            <Icon name="up" size={12} />
            {plural(newRuns, "new run")}
          </button>
        )}
        <span className="grow" />
        <Exports query={query} />
        <CompareLink selected={selected} />
        {selected.length > 0 && (
          <Button look="quiet" onClick={() => onView((now) => ({ ...now, selected: [] }))}>
            Clear selection
          </Button>
        )}
      </div>
      <RunsFilters
        query={query}
        presets={presets.data?.map((preset) => preset.name) ?? []}
        providers={environment.data?.providers.map((provider) => provider.name) ?? []}
        devices={environment.data?.devices.map((device) => device.name) ?? []}
        onChange={change}
      />
      {runs.isError && <ErrorNotice error={runs.error} onRetry={() => runs.refetch()} />}
      {runs.isPending && <SkeletonLines lines={10} height={30} />}
      {runs.data && runs.data.items.length > 0 && (
        <ScrollArea className="table-frame" busy={runs.isPlaceholderData} label="Runs table">
          <RunsTable
            runs={runs.data.items}
            view={view}
            onView={onView}
            onOpen={onOpen}
            onCancel={(run) => cancel.mutate(run)}
          />
        </ScrollArea>
      )}
      {runs.data?.items.length === 0 && (hasFilters(query) || query.offset > 0 ? <NoMatch /> : <NoRuns />)}
      {runs.data && runs.data.total > 0 && (
        <Pager query={query} total={runs.data.total} shown={runs.data.items.length} onChange={change} />
      )}
    </div>
  );
}

function CompareLink({ selected }: { selected: readonly number[] }) {
  if (selected.length < 2) {
    return (
      <Button icon="compare" disabled title="Select two runs or more">
        Compare
      </Button>
    );
  }
  return (
    <Link className="button primary" href={`/compare?ids=${selected.join(",")}`}>
      <Icon name="compare" size={14} />
      Compare {selected.length}
    </Link>
  );
}

function Exports({ query }: { query: RunsQuery }) {
  const params = new URLSearchParams();
  for (const name of ["q", "preset", "provider", "verdict", "dtype", "device"] as const) {
    const value = query[name];
    if (value) params.set(name, value);
  }
  const url = (format: string) => `/api/export/runs?${new URLSearchParams([...params, ["format", format]])}`;
  return (
    <>
      <a className="button quiet" href={url("csv")} download>
        <Icon name="download" size={14} />
        CSV
      </a>
      <a className="button quiet" href={url("json")} download>
        JSON
      </a>
    </>
  );
}

function NoRuns() {
  return (
    <EmptyState
      title="No runs yet"
      actions={
        <Link href="/" className="button primary">
          Open the editor
        </Link>
      }
    >
      A run checks one implementation of attention on one mask against the reference, and measures it when it is right.
      Press Run in the editor to start the first.
    </EmptyState>
  );
}

function NoMatch() {
  return <EmptyState title="Nothing matches">No run fits these filters. Clear them to see all.</EmptyState>;
}

interface PagerProps {
  query: RunsQuery;
  total: number;
  shown: number;
  onChange: (change: Partial<RunsQuery>) => void;
}

function Pager({ query, total, shown, onChange }: PagerProps) {
  const { offset, limit } = query;
  return (
    <div className="pager">
      <Button
        small
        look="quiet"
        icon="left"
        aria-label="Previous page"
        disabled={offset === 0}
        onClick={() => onChange({ offset: Math.max(0, offset - limit) })}
      />
      <span>
        {shown === 0 ? "0" : `${formatInt(offset + 1)}–${formatInt(offset + shown)}`} of {formatInt(total)}
      </span>
      <Button
        small
        look="quiet"
        icon="right"
        aria-label="Next page"
        disabled={offset + shown >= total}
        onClick={() => onChange({ offset: offset + limit })}
      />
      <select
        className="input page-size"
        aria-label="Runs per page"
        value={limit}
        onChange={(event) => onChange({ limit: Number(event.target.value) })}
      >
        {PAGE_SIZES.map((size) => (
          <option key={size} value={size}>
            {size} a page
          </option>
        ))}
      </select>
    </div>
  );
}
