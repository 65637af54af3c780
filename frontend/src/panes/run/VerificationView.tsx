import type { QuantityError, Run } from "../../api/types";
import { formatError, formatInt } from "../../domain/format";
import { isKeySide, worstPlace } from "../../domain/worst";
import { Button } from "../../widgets/Button";
import { Icon } from "../../widgets/Icon";
import { ScrollArea } from "../../widgets/ScrollArea";
import { WorstPicture } from "./WorstPicture";

interface VerificationViewProps {
  run: Run;
  /** Opens the mask in the editor with this cell marked. */
  onShow: (cell: { q: number; k: number }) => void;
}

/** What was compared with float64: each tensor's largest error, what is allowed, and where it is worst. */
export function VerificationView({ run, onShow }: VerificationViewProps) {
  const { errors } = run;
  if (errors.length === 0) {
    return (
      <section className="card">
        <h2>Verification</h2>
        <p className="muted">
          {run.state === "queued" || run.state === "running"
            ? "Not finished yet."
            : "This run did not come as far as a comparison."}
        </p>
      </section>
    );
  }
  const checked =
    run.rows_checked === null
      ? null
      : `${formatInt(run.rows_checked)} of ${formatInt(run.rows_total ?? run.rows_checked)} query rows of every head`;
  return (
    <section className="card verification">
      <div className="card-head">
        <h2>Verification</h2>
        <span className="muted small-text">
          seed {run.seed}
          {checked && ` · ${checked}`}
        </span>
      </div>
      <ScrollArea label="Errors by tensor">
        <table className="error-table">
          <thead>
            <tr>
              <th scope="col">Tensor</th>
              <th scope="col">Verdict</th>
              <th scope="col" title="against dense attention in float64, elementwise">
                Largest error
              </th>
              <th scope="col" title={`the same error of plain dense attention in ${run.dtype}`}>
                {run.dtype} yardstick
              </th>
              <th scope="col" title="twice the yardstick, and one unit in the last place">
                Allowed
              </th>
              <th scope="col">Mean</th>
              <th scope="col">Worst at</th>
            </tr>
          </thead>
          <tbody>
            {errors.map((row) => (
              <ErrorRow key={row.quantity} row={row} run={run} onShow={onShow} />
            ))}
          </tbody>
        </table>
      </ScrollArea>
      <ErrorBars errors={errors} dtype={run.dtype} />
      <WorstPicture run={run} />
    </section>
  );
}

function ErrorRow({ row, run, onShow }: { row: QuantityError; run: Run; onShow: VerificationViewProps["onShow"] }) {
  const number = (name: "max_error" | "mean_error" | "tolerance" | "yardstick_error") =>
    row[name] === null ? (row.named?.[name] ?? "–") : formatError(row[name]);
  const place = worstPlace(row, run);
  return (
    <tr data-tensor={row.quantity}>
      <th scope="row">
        <code>{row.quantity}</code>
      </th>
      <td>
        {row.passed === null ? (
          <span className="muted">–</span>
        ) : (
          <span className={row.passed ? "badge good" : "badge bad"}>
            <Icon name={row.passed ? "check" : "close"} size={12} />
            {row.passed ? "right" : "wrong"}
          </span>
        )}
      </td>
      <td className="numeric">
        {number("max_error")}
        {row.nonfinite > 0 && <small className="muted"> {formatInt(row.nonfinite)} not finite</small>}
      </td>
      <td className="numeric">{number("yardstick_error")}</td>
      <td className="numeric">{number("tolerance")}</td>
      <td className="numeric">{number("mean_error")}</td>
      <td>
        {place ? (
          <span className="worst-place">
            <span>
              {isKeySide(row.quantity) ? "key" : "query"} {formatInt(place.position)}
              <small className="muted">
                batch {place.batch}, head {place.head}
                {place.channel !== null && `, channel ${place.channel}`}
              </small>
            </span>
            <Button
              small
              look="quiet"
              icon="open"
              aria-label={`Show the worst ${row.quantity} in the mask`}
              onClick={() => onShow(place.cell)}
            />
          </span>
        ) : (
          "–"
        )}
      </td>
    </tr>
  );
}

/** Largest error and yardstick as parts of what is allowed: past the line is wrong. */
function ErrorBars({ errors, dtype }: { errors: readonly QuantityError[]; dtype: string }) {
  const judged = errors.filter((row) => row.tolerance !== null && row.tolerance > 0);
  if (judged.length === 0) return null;
  return (
    <ul className="error-bars" aria-hidden="true">
      {judged.map((row) => {
        const share = (value: number | null) =>
          value === null || row.tolerance === null ? 100 : Math.min(100, (75 * value) / row.tolerance);
        return (
          <li key={row.quantity}>
            <code>{row.quantity}</code>
            <span className="error-track">
              <span
                className={row.passed === false ? "error-bar bad" : "error-bar"}
                style={{ width: `${share(row.max_error)}%` }}
              />
              <span className="error-yardstick" style={{ left: `${share(row.yardstick_error)}%` }} />
            </span>
          </li>
        );
      })}
      <li className="error-key muted">
        Bar: largest error. Tick: plain dense attention in {dtype}. Line at three quarters: what is allowed.
      </li>
    </ul>
  );
}
