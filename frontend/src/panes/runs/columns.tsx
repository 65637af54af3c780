import { createColumnHelper, rowSelectionFeature, rowSortingFeature, tableFeatures } from "@tanstack/react-table";
import type { Run } from "../../api/types";
import { formatAge, formatError, formatInt, formatMs, formatRate } from "../../domain/format";
import { errorText, hasSpeed, shapeText, sizeText, versionsText } from "../../domain/runText";
import { summarize } from "../../domain/values";
import { RunBadge } from "../../widgets/RunBadge";

export const features = tableFeatures({ rowSortingFeature, rowSelectionFeature });

const helper = createColumnHelper<typeof features, Run>();

/** Column ids are the server's names of sort orders. */
export const columns = helper.columns([
  helper.accessor("verdict", { header: "Verdict", cell: ({ row }) => <RunBadge run={row.original} /> }),
  helper.accessor("name", {
    header: "Name",
    cell: ({ row }) => <Truncated text={row.original.name || `run ${row.original.id}`} />,
  }),
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
    meta: { numeric: true },
    cell: ({ row }) => shapeText(row.original),
  }),
  helper.accessor("dtype", { header: "dtype", cell: ({ row }) => row.original.dtype }),
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
]);

function Truncated({ text }: { text: string }) {
  return (
    <span className="truncate cell" title={text}>
      {text}
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
    <span className="two-lines" title={`${formatInt(run.samples_ms.length)} samples, 20 % to 80 %`}>
      <span>{formatMs(run.median_ms)}</span>
      {run.p20_ms !== null && run.p80_ms !== null && (
        <small>
          {formatMs(run.p20_ms)} – {formatMs(run.p80_ms)}
        </small>
      )}
    </span>
  );
}
