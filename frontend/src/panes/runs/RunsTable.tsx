import { type RowSelectionState, type SortingState, useTable } from "@tanstack/react-table";
import type { Run, RunSort } from "../../api/types";
import type { RunsView } from "../../domain/runsQuery";
import { isActive } from "../../domain/runText";
import { Button } from "../../widgets/Button";
import { Icon } from "../../widgets/Icon";
import { type ColumnMeta, columns, features } from "./columns";
import { columnTitle } from "./columnTitle";

interface RunsTableProps {
  runs: Run[];
  /** Ids of columns that are not shown. */
  hidden: readonly string[];
  view: RunsView;
  onView: (change: (view: RunsView) => RunsView) => void;
  onOpen: (run: Run) => void;
  onCancel: (run: Run) => void;
}

const MOST_SELECTED = 500;

/** One page of runs. Sorting and paging happen on the server; this only shows and asks. */
export function RunsTable({ runs, hidden, view, onView, onOpen, onCancel }: RunsTableProps) {
  const sorting: SortingState = [{ id: view.query.sort, desc: view.query.order === "desc" }];
  const rowSelection: RowSelectionState = Object.fromEntries(view.selected.map((id) => [String(id), true]));
  const table = useTable({
    features,
    columns,
    data: runs,
    getRowId: (run) => String(run.id),
    manualSorting: true,
    enableSortingRemoval: false,
    state: { sorting, rowSelection, columnVisibility: Object.fromEntries(hidden.map((id) => [id, false])) },
    onSortingChange: (update) => {
      const [first] = typeof update === "function" ? update(sorting) : update;
      if (!first) return;
      onView((now) => ({
        ...now,
        query: { ...now.query, sort: first.id as RunSort, order: first.desc ? "desc" : "asc", offset: 0 },
      }));
    },
    onRowSelectionChange: (update) => {
      const next = typeof update === "function" ? update(rowSelection) : update;
      const ids = Object.keys(next)
        .filter((id) => next[id])
        .map(Number);
      onView((now) => ({ ...now, selected: ids.slice(0, MOST_SELECTED) }));
    },
  });

  return (
    <table className="runs-table">
      <thead>
        {table.getHeaderGroups().map((group) => (
          <tr key={group.id}>
            <th scope="col" className="select">
              <input
                type="checkbox"
                aria-label="Select all runs of this page"
                checked={runs.length > 0 && table.getIsAllRowsSelected()}
                onChange={table.getToggleAllRowsSelectedHandler()}
              />
            </th>
            {group.headers.map((header) => {
              const sorted = header.column.getIsSorted();
              const numeric = isNumeric(header.column.columnDef.meta);
              return (
                <th
                  key={header.id}
                  scope="col"
                  className={numeric ? "numeric-column" : undefined}
                  aria-sort={sorted === "asc" ? "ascending" : sorted === "desc" ? "descending" : undefined}
                >
                  {header.column.getCanSort() ? (
                    <button type="button" className="sort" onClick={header.column.getToggleSortingHandler()}>
                      <table.FlexRender header={header} />
                      {sorted && <Icon name={sorted === "asc" ? "up" : "down"} size={12} />}
                    </button>
                  ) : (
                    <table.FlexRender header={header} />
                  )}
                </th>
              );
            })}
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        ))}
      </thead>
      <tbody>
        {table.getRowModel().rows.map((row) => {
          const run = row.original;
          return (
            <tr
              key={row.id}
              data-run={run.id}
              aria-selected={row.getIsSelected()}
              className={row.getIsSelected() ? "selected" : undefined}
            >
              <td className="select">
                <input
                  type="checkbox"
                  aria-label={`Select run ${run.id}`}
                  checked={row.getIsSelected()}
                  onChange={row.getToggleSelectedHandler()}
                />
              </td>
              {row.getVisibleCells().map((cell) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the link in the last column is the keyboard's way
                <td
                  key={cell.id}
                  data-column={cell.column.id}
                  data-label={columnTitle(cell.column.columnDef)}
                  className={isNumeric(cell.column.columnDef.meta) ? "numeric-column" : undefined}
                  onClick={() => onOpen(run)}
                >
                  <table.FlexRender cell={cell} />
                </td>
              ))}
              <td className="actions">
                {isActive(run) ? (
                  <Button small look="quiet" icon="stop" onClick={() => onCancel(run)}>
                    Cancel
                  </Button>
                ) : (
                  <Button
                    small
                    look="quiet"
                    icon="right"
                    aria-label={`Open run ${run.id}`}
                    onClick={() => onOpen(run)}
                  />
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function isNumeric(meta: unknown): boolean {
  return (meta as ColumnMeta | undefined)?.numeric === true;
}
