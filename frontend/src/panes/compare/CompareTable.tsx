import { Link } from "wouter";
import type { ComparedRun, Comparison } from "../../api/types";
import { changeOf } from "../../domain/change";
import { formatError, formatMs, formatMsRange, formatRate } from "../../domain/format";
import { errorText, hasSpeed, shapeText, sizeText } from "../../domain/runText";
import { Button } from "../../widgets/Button";
import { CopyButton } from "../../widgets/CopyButton";
import { RunBadge } from "../../widgets/RunBadge";
import { ScrollArea } from "../../widgets/ScrollArea";

interface CompareTableProps {
  comparison: Comparison;
  onBaseline: (id: number) => void;
  onRemove: (id: number) => void;
}

/** One row a run: verdict first, then speed as a ratio to the baseline. */
export function CompareTable({ comparison, onBaseline, onRemove }: CompareTableProps) {
  return (
    <ScrollArea className="table-frame" label="Compared runs">
      <table className="runs-table compare-table">
        <thead>
          <tr>
            <th scope="col">Baseline</th>
            <th scope="col">Run</th>
            <th scope="col">Verdict</th>
            <th scope="col">Provider</th>
            <th scope="col">Mask</th>
            <th scope="col" className="numeric-column">
              Tokens
            </th>
            <th scope="col" className="numeric-column">
              Shape
            </th>
            <th scope="col" className="numeric-column">
              Error / allowed
            </th>
            <th scope="col" className="numeric-column">
              Median
            </th>
            <th scope="col" className="numeric-column">
              Rate
            </th>
            <th scope="col" className="numeric-column">
              Against baseline
            </th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {comparison.runs.map((compared) => (
            <CompareRow
              key={compared.run.id}
              compared={compared}
              isBaseline={compared.run.id === comparison.baseline_id}
              onBaseline={onBaseline}
              onRemove={onRemove}
            />
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}

interface CompareRowProps {
  compared: ComparedRun;
  isBaseline: boolean;
  onBaseline: (id: number) => void;
  onRemove: (id: number) => void;
}

function CompareRow({ compared, isBaseline, onBaseline, onRemove }: CompareRowProps) {
  const { run } = compared;
  return (
    <tr className={isBaseline ? "selected" : undefined}>
      <td className="select">
        <input
          type="radio"
          name="baseline"
          aria-label={`Baseline: run ${run.id}`}
          checked={isBaseline}
          onChange={() => onBaseline(run.id)}
        />
      </td>
      <td>
        <Link href={`/runs/${run.id}`} className="truncate cell" title={run.name}>
          {run.name || `run ${run.id}`} <span className="muted">#{run.id}</span>
        </Link>
      </td>
      <td>
        <RunBadge run={run} />
      </td>
      <td>
        <code>{run.provider}</code>
      </td>
      <td>{run.mask_name}</td>
      <td className="numeric-column">{sizeText(run)}</td>
      <td className="numeric-column">{shapeText(run)}</td>
      <td className="numeric-column">
        {run.tolerance === null ? "–" : `${errorText(run)} / ${formatError(run.tolerance)}`}
      </td>
      <td className="numeric-column">
        {hasSpeed(run) ? (
          <span className="two-lines">
            <span>{formatMs(run.median_ms)}</span>
            {run.p20_ms !== null && run.p80_ms !== null && <small>{formatMsRange(run.p20_ms, run.p80_ms)}</small>}
            {run.flags.length > 0 && (
              <small className="flag-text" title={run.flags.join("\n")}>
                {run.flags.map((flag) => flag.split(":")[0]).join(", ")}
              </small>
            )}
          </span>
        ) : (
          "–"
        )}
      </td>
      <td className="numeric-column">{hasSpeed(run) && run.tflops !== null ? formatRate(run.tflops) : "–"}</td>
      <td className="numeric-column">
        {isBaseline ? <span className="muted">baseline</span> : <Change compared={compared} />}
      </td>
      <td className="actions">
        {run.command && (
          <CopyButton label={`Command of run ${run.id}`} text={() => run.command ?? ""} small iconOnly look="quiet" />
        )}
        <Button small look="quiet" icon="close" aria-label={`Remove run ${run.id}`} onClick={() => onRemove(run.id)} />
      </td>
    </tr>
  );
}

function Change({ compared }: { compared: ComparedRun }) {
  const { is_reference, against, unlike, ratio_low, ratio_high } = compared;
  if (is_reference)
    return (
      <span
        className="muted"
        title={`It differs from the baseline in ${unlike.join(", ")}; runs of its own case are compared with it.`}
      >
        baseline of its case
      </span>
    );
  if (unlike.length > 0)
    return (
      <span
        className="muted"
        title={`The baseline has another ${unlike.join(", ")}, and no other run here is of this case.`}
      >
        unlike: {unlike.join(", ")}
      </span>
    );
  const change = changeOf(compared);
  return (
    <span className="two-lines" title={change.why}>
      <span className={`change ${change.kind}`}>{change.text}</span>
      {ratio_low !== null && ratio_high !== null && (
        <small>
          {ratio_low.toFixed(2)} – {ratio_high.toFixed(2)}, against #{against}
        </small>
      )}
    </span>
  );
}
