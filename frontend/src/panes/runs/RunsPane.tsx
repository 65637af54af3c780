import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";
import { cancelLaunch, listRuns } from "../../api/calls";
import { groupRuns, readFacets } from "../../api/runCalls";
import type { Run, RunAction } from "../../api/types";
import { formatInt, plural } from "../../domain/format";
import { RUN_SORTS } from "../../domain/generated/names";
import {
  filterOf,
  filterParams,
  hasFilters,
  NO_FILTERS,
  PAGE_SIZES,
  type RunsFilter,
  type RunsQuery,
  type RunsView,
} from "../../domain/runsQuery";
import { Button } from "../../widgets/Button";
import { EmptyState, ErrorNotice, SkeletonBoxes } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";
import { Menu } from "../../widgets/Menu";
import { ScrollArea } from "../../widgets/ScrollArea";
import { useToast } from "../../widgets/Toasts";
import { BulkBar } from "./BulkBar";
import { ColumnsMenu } from "./ColumnsMenu";
import { columns } from "./columns";
import { columnTitle } from "./columnTitle";
import { GroupsTable } from "./GroupsTable";
import { RunsFilters } from "./RunsFilters";
import { RunsTable } from "./RunsTable";

interface RunsPaneProps {
  view: RunsView;
  onView: (change: (view: RunsView) => RunsView) => void;
  hidden: readonly string[];
  onHidden: (hidden: string[]) => void;
  newRuns: number;
  onShowNew: () => void;
  onOpen: (run: Run) => void;
  /** Does something to the runs that are ticked. */
  onBulk: (action: RunAction, tag?: string) => void;
  busy: boolean;
}

/** The stored runs: filtered, sorted, grouped and paged by the server, as the address says. */
export function RunsPane({ view, onView, hidden, onHidden, newRuns, onShowNew, onOpen, onBulk, busy }: RunsPaneProps) {
  const { query, group, selected } = view;
  const archived = query.archived ?? false;
  const facets = useQuery({
    queryKey: ["run-facets", archived],
    queryFn: ({ signal }) => readFacets(archived, signal),
    placeholderData: keepPreviousData,
  });
  const change = (part: Partial<RunsQuery>) =>
    onView((now) => ({ ...now, query: { ...now.query, offset: 0, ...part } }));
  return (
    <div className="page">
      <div className="page-head">
        <h1>{archived ? "Archived runs" : "Runs"}</h1>
        {newRuns > 0 && !archived && (
          <button type="button" className="pill" onClick={onShowNew}>
            <Icon name="up" size={12} />
            {plural(newRuns, "new run")}
          </button>
        )}
        <span className="grow" />
        <Link href="/launches" className="button quiet">
          Queue
        </Link>
        <Link href={archived ? "/runs" : "/runs?archived=true"} className="button quiet">
          <Icon name="history" size={14} />
          {archived
            ? "Back to the runs"
            : `Archive${facets.data?.archived ? ` (${formatInt(facets.data.archived)})` : ""}`}
        </Link>
        <Exports query={query} />
        <ColumnsMenu hidden={hidden} onHidden={onHidden} />
      </div>
      <RunsFilters
        query={query}
        group={group}
        facets={facets.data}
        onChange={change}
        onGroup={(by) => onView((now) => ({ ...now, group: by }))}
      />
      {selected.length > 0 && (
        <BulkBar
          selected={selected}
          archived={archived}
          tags={facets.data?.tags.map((facet) => facet.value) ?? []}
          busy={busy}
          onChange={onBulk}
          onClear={() => onView((now) => ({ ...now, selected: [] }))}
        />
      )}
      {group === null ? (
        <RunsList view={view} hidden={hidden} onView={onView} onOpen={onOpen} onChange={change} />
      ) : (
        <GroupsList
          filter={filterOf(query)}
          by={group}
          onOpen={(filter) => onView((now) => ({ ...now, group: null, query: { ...now.query, offset: 0, ...filter } }))}
        />
      )}
    </div>
  );
}

interface RunsListProps extends Pick<RunsPaneProps, "view" | "hidden" | "onView" | "onOpen"> {
  onChange: (change: Partial<RunsQuery>) => void;
}

function RunsList({ view, hidden, onView, onOpen, onChange }: RunsListProps) {
  const queries = useQueryClient();
  const toast = useToast();
  const { query } = view;
  const runs = useQuery({
    queryKey: ["runs", query],
    queryFn: ({ signal }) => listRuns(query, signal),
    placeholderData: keepPreviousData,
  });
  const cancel = useMutation({
    mutationFn: (run: Run) => cancelLaunch(run.launch_id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["runs"] }),
    onError: (error) => toast({ text: error.message }),
  });
  return (
    <>
      {runs.isError && <ErrorNotice error={runs.error} onRetry={() => runs.refetch()} />}
      {runs.isPending && <SkeletonBoxes boxes={14} className="skeleton-rows" />}
      {runs.data && runs.data.items.length > 0 && (
        <>
          <SortChoice query={query} onChange={onChange} />
          <ScrollArea className="table-frame runs-frame" busy={runs.isPlaceholderData} label="Runs table">
            <RunsTable
              runs={runs.data.items}
              hidden={hidden}
              view={view}
              onView={onView}
              onOpen={onOpen}
              onCancel={(run) => cancel.mutate(run)}
            />
          </ScrollArea>
        </>
      )}
      {runs.data?.items.length === 0 &&
        (hasFilters(query) || query.offset > 0 ? (
          <NoMatch onClear={() => onChange(NO_FILTERS)} />
        ) : query.archived ? (
          <NothingArchived />
        ) : (
          <NoRuns />
        ))}
      {runs.data && runs.data.total > 0 && (
        <Pager query={query} total={runs.data.total} shown={runs.data.items.length} onChange={onChange} />
      )}
    </>
  );
}

interface GroupsListProps {
  filter: RunsFilter;
  by: NonNullable<RunsView["group"]>;
  onOpen: (filter: Partial<RunsQuery>) => void;
}

function GroupsList({ filter, by, onOpen }: GroupsListProps) {
  const groups = useQuery({
    queryKey: ["run-groups", filter, by],
    queryFn: ({ signal }) => groupRuns({ ...filter }, by, signal),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      {groups.isError && <ErrorNotice error={groups.error} onRetry={() => groups.refetch()} />}
      {groups.isPending && <SkeletonBoxes boxes={6} className="skeleton-rows" />}
      {groups.data && groups.data.groups.length > 0 && (
        <ScrollArea className="table-frame" busy={groups.isPlaceholderData} label="Groups of runs">
          <GroupsTable groups={groups.data} onOpen={onOpen} />
        </ScrollArea>
      )}
      {groups.data?.groups.length === 0 && <NoMatch onClear={() => onOpen(NO_FILTERS)} />}
      {groups.data && groups.data.total > groups.data.groups.length && (
        <p className="muted">
          The {formatInt(groups.data.groups.length)} largest of {formatInt(groups.data.total)} groups.
        </p>
      )}
    </>
  );
}

/** A sort order in the word of its column. */
function sortTitle(name: string): string {
  const column = columns.find((one) => "accessorKey" in one && one.accessorKey === name);
  return column ? columnTitle(column) : name.replaceAll("_", " ");
}

/** On a phone there are no heads of columns to sort by. */
function SortChoice({ query, onChange }: { query: RunsQuery; onChange: (change: Partial<RunsQuery>) => void }) {
  return (
    <div className="sort-choice">
      <select
        className="input"
        aria-label="Sort by"
        value={query.sort}
        onChange={(event) => onChange({ sort: RUN_SORTS.find((name) => name === event.target.value) })}
      >
        {RUN_SORTS.map((name) => (
          <option key={name} value={name}>
            Sort: {sortTitle(name)}
          </option>
        ))}
      </select>
      <Button
        icon={query.order === "asc" ? "up" : "down"}
        aria-label={query.order === "asc" ? "Ascending" : "Descending"}
        onClick={() => onChange({ order: query.order === "asc" ? "desc" : "asc" })}
      />
    </div>
  );
}

function Exports({ query }: { query: RunsQuery }) {
  const url = (format: string) =>
    `/api/export/runs?${new URLSearchParams([...filterParams(query), ["format", format]])}`;
  return (
    <Menu label="Export" icon="download">
      <a href={url("csv")} download>
        CSV, these runs
      </a>
      <a href={url("json")} download>
        JSON, these runs
      </a>
    </Menu>
  );
}

function NothingArchived() {
  return (
    <EmptyState icon="history" title="The archive is empty">
      Runs that are out of the way but not deleted stand here. Tick runs in the table and press Archive.
    </EmptyState>
  );
}

function NoRuns() {
  return (
    <EmptyState
      icon="play"
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

function NoMatch({ onClear }: { onClear: () => void }) {
  return (
    <EmptyState icon="search" title="Nothing matches" actions={<Button onClick={onClear}>Show all runs</Button>}>
      No run fits the search and the filters.
    </EmptyState>
  );
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
