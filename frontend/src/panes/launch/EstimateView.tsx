import type { UseQueryResult } from "@tanstack/react-query";
import type { CaseEstimate, LaunchEstimate } from "../../api/types";
import { formatBytes, formatDuration, formatFlops, formatInt, plural } from "../../domain/format";
import { summarize } from "../../domain/values";
import { ErrorNotice } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";
import { ScrollArea } from "../../widgets/ScrollArea";

/** What the launch would be: how many cases and runs, how much work, how long, and what stands against a case. */
export function EstimateView({ estimate }: { estimate: UseQueryResult<LaunchEstimate, Error> }) {
  if (estimate.isError) return <ErrorNotice error={estimate.error} onRetry={() => estimate.refetch()} />;
  const { data } = estimate;
  if (!data) return null;
  const impossible = data.cases.filter((one) => one.problem !== null);
  return (
    <section aria-busy={estimate.isFetching} className="estimate">
      {impossible.map((one) => (
        <div key={caseText(one)} className="notice bad" role="alert">
          <Icon name="error" />
          <span className="grow">
            {data.cases.length > 1 && <b>{caseText(one)}: </b>}
            {one.problem}
          </span>
        </div>
      ))}
      {data.cases.length > 1 && (
        <details>
          <summary>The {plural(data.case_count, "case")}</summary>
          <ScrollArea label="Cases">
            <CaseTable cases={data.cases} />
          </ScrollArea>
        </details>
      )}
    </section>
  );
}

/** One line for the foot of the dialog. */
export function estimateText(data: LaunchEstimate): string {
  const runs = data.case_count > 1 ? `${plural(data.case_count, "case")}, ${plural(data.run_count, "run")}, ` : "";
  const [first] = data.cases;
  const work =
    data.case_count === 1 && first?.flops != null && first.visible_pairs !== null
      ? `${formatFlops(first.flops)} a pass, ${formatInt(first.visible_pairs)} visible pairs`
      : `${formatFlops(data.flops)} for one pass of each`;
  const time = data.seconds === null ? "" : `; about ${formatDuration(data.seconds)}`;
  return `${runs}${runs ? "" : "About "}${work}${time}`;
}

function caseText({ values, batch, head_dim, dtype, direction }: CaseEstimate): string {
  return [summarize(values), `batch ${batch}`, `head_dim ${head_dim}`, dtype, direction].filter(Boolean).join(", ");
}

function CaseTable({ cases }: { cases: readonly CaseEstimate[] }) {
  return (
    <table className="mini-table">
      <thead>
        <tr>
          <th scope="col">Numbers</th>
          <th scope="col">Tokens</th>
          <th scope="col">Visible pairs</th>
          <th scope="col">head_dim</th>
          <th scope="col">dtype</th>
          <th scope="col">Direction</th>
          <th scope="col">Work</th>
          <th scope="col">Memory</th>
        </tr>
      </thead>
      <tbody>
        {cases.map((one) => (
          <tr key={caseText(one)}>
            <td>{summarize(one.values) || "–"}</td>
            <td>{one.q_len === null ? "–" : `${formatInt(one.q_len)} × ${formatInt(one.kv_len ?? 0)}`}</td>
            <td>{one.visible_pairs === null ? "–" : formatInt(one.visible_pairs)}</td>
            <td>{one.head_dim}</td>
            <td>{one.dtype}</td>
            <td>{one.direction}</td>
            <td>{one.flops === null ? "–" : formatFlops(one.flops)}</td>
            <td>{one.bytes === null ? "–" : formatBytes(one.bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
