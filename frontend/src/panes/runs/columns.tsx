import {
  columnVisibilityFeature,
  createColumnHelper,
  rowSelectionFeature,
  rowSortingFeature,
  tableFeatures,
} from "@tanstack/react-table";
import type { Run } from "../../api/types";
import {
  formatAge,
  formatError,
  formatInt,
  formatMs,
  formatMsRange,
  formatRate,
  formatSignificant,
} from "../../domain/format";
import { errorText, hasSpeed, shapeText, sizeText, versionsText } from "../../domain/runText";
import { summarize } from "../../domain/values";
import { Icon } from "../../widgets/Icon";
import { RunBadge } from "../../widgets/RunBadge";

export const features = tableFeatures({ rowSortingFeature, rowSelectionFeature, columnVisibilityFeature });

const helper = createColumnHelper<typeof features, Run>();

/** What a column can tell besides its cells: how it is set, and its name where the header is no plain text. */
export interface ColumnMeta {
  numeric?: boolean;
  title?: string;
}

/** Columns that are not shown until somebody asks for them. */
export const HIDDEN_AT_FIRST = ["direction", "head_dim", "visible_pairs", "density", "plan_ms", "launch_ms", "note"];

/** Column ids are the server's names of sort orders. */
export const columns = helper.columns([
  helper.accessor("verdict", { header: "Verdict", cell: ({ row }) => <RunBadge run={row.original} /> }),
  helper.accessor("id", {
    header: "Run",
    meta: { numeric: true },
    cell: ({ row }) => <span className="run-number">#{row.original.id}</span>,
  }),
  helper.accessor("name", { header: "Name", cell: ({ row }) => <NameCell run={row.original} /> }),
  helper.accessor("mask_name", {
    header: "Mask",
    cell: ({ row }) => (
      <TwoLines first={row.original.mask_name} second={summarize(row.original.values) || "no parameters"} size="wide" />
    ),
  }),
  helper.accessor("provider", { header: "Provider", cell: ({ row }) => <code>{row.original.provider}</code> }),
  helper.accessor("q_len", {
    header: "Tokens",
    meta: { numeric: true },
    cell: ({ row }) => sizeText(row.original),
  }),
  helper.display({
    id: "shape",
    header: () => <span title="batch × heads (query/key) × head_dim">Shape</span>,
    meta: { numeric: true, title: "Shape" },
    cell: ({ row }) => shapeText(row.original),
  }),
  helper.accessor("head_dim", {
    header: "head_dim",
    meta: { numeric: true },
    cell: ({ row }) => row.original.head_dim,
  }),
  helper.accessor("visible_pairs", {
    header: "Visible pairs",
    meta: { numeric: true },
    cell: ({ row }) => formatInt(row.original.visible_pairs),
  }),
  helper.accessor("density", {
    header: "Density",
    meta: { numeric: true },
    cell: ({ row }) => formatSignificant(row.original.density),
  }),
  helper.accessor("dtype", { header: "dtype", cell: ({ row }) => row.original.dtype }),
  helper.accessor("direction", { header: "Direction", cell: ({ row }) => row.original.direction }),
  helper.accessor("max_error", {
    header: "Error / allowed",
    meta: { numeric: true },
    cell: ({ row }) => <ErrorCell run={row.original} />,
  }),
  helper.accessor("median_ms", {
    header: "Median",
    meta: { numeric: true },
    cell: ({ row }) => <SpeedCell run={row.original} />,
  }),
  helper.accessor("tflops", {
    header: "Rate",
    meta: { numeric: true },
    cell: ({ row }) => (hasSpeed(row.original) && row.original.tflops !== null ? formatRate(row.original.tflops) : "–"),
  }),
  helper.accessor("plan_ms", {
    header: "Planning",
    meta: { numeric: true },
    cell: ({ row }) => (row.original.plan_ms === null ? "–" : formatMs(row.original.plan_ms)),
  }),
  helper.accessor("launch_ms", {
    header: "Launching",
    meta: { numeric: true },
    cell: ({ row }) => (row.original.launch_ms === null ? "–" : formatMs(row.original.launch_ms)),
  }),
  helper.accessor("device", {
    header: "Device",
    cell: ({ row }) => (
      <TwoLines first={row.original.device ?? "–"} second={versionsText(row.original.environment)} size="medium" />
    ),
  }),
  helper.accessor("created_at", {
    header: "Age",
    meta: { numeric: true },
    cell: ({ row }) => (
      <time dateTime={row.original.created_at} title={new Date(row.original.created_at).toLocaleString()}>
        {formatAge(row.original.created_at, Date.now())}
      </time>
    ),
  }),
  helper.display({
    id: "note",
    header: "Note",
    cell: ({ row }) => (
      <span className="truncate cell" title={row.original.note}>
        {row.original.note || "–"}
      </span>
    ),
  }),
]);

/** Of the tags of a run, in a line of the table. */
const SHOWN_TAGS = 2;

function NameCell({ run }: { run: Run }) {
  const name = run.name || `run ${run.id}`;
  return (
    <span className="name-cell">
      <span className="truncate cell" title={run.note ? `${name}\n${run.note}` : name}>
        {name}
      </span>
      {run.tags.length > 0 && (
        <span className="tags">
          {run.tags.slice(0, SHOWN_TAGS).map((tag) => (
            <span key={tag} className="tag truncate" title={tag}>
              {tag}
            </span>
          ))}
          {run.tags.length > SHOWN_TAGS && (
            <span className="muted" title={run.tags.slice(SHOWN_TAGS).join(", ")}>
              +{run.tags.length - SHOWN_TAGS}
            </span>
          )}
        </span>
      )}
    </span>
  );
}

function TwoLines({ first, second, size }: { first: string; second: string; size: "wide" | "medium" }) {
  return (
    <span className={`two-lines ${size}`} title={`${first}\n${second}`}>
      <span className="truncate cell">{first}</span>
      <small className="truncate cell">{second}</small>
    </span>
  );
}

function ErrorCell({ run }: { run: Run }) {
  if (run.tolerance === null) return "–";
  return (
    <span className="two-lines">
      <span>
        {errorText(run)} / {formatError(run.tolerance)}
      </span>
      {run.mean_error !== null && <small>mean {formatError(run.mean_error)}</small>}
    </span>
  );
}

function SpeedCell({ run }: { run: Run }) {
  if (!hasSpeed(run)) return "–";
  return (
    <span
      className="two-lines"
      title={[`${formatInt(run.samples_ms.length)} samples, 20 % to 80 %`, ...run.flags].join("\n")}
    >
      <span>
        {run.flags.length > 0 && <Icon name="warning" size={11} className="flag" />}
        {formatMs(run.median_ms)}
        {run.flags.length > 0 && <span className="visually-hidden">, {run.flags.join(", ")}</span>}
      </span>
      {run.p20_ms !== null && run.p80_ms !== null && <small>{formatMsRange(run.p20_ms, run.p80_ms)}</small>}
    </span>
  );
}
