import { useState } from "react";
import type { Comparison, Run } from "../../api/types";
import { allFields } from "../../domain/runFields";
import { ScrollArea } from "../../widgets/ScrollArea";
import { Switch } from "../../widgets/Switch";

/** The conditions of the runs, side by side: by default only those that differ. */
export function DifferenceTable({ comparison }: { comparison: Comparison }) {
  const [all, setAll] = useState(false);
  const runs = comparison.runs.map(({ run }) => run);
  const differing = comparison.differences.map(({ field, values }) => ({ field, values }));
  const rows = all ? allFields(runs) : differing;
  const unlike = new Set(differing.map(({ field }) => field));
  return (
    <section className="card">
      <div className="card-head">
        <h2>Conditions</h2>
        <span className="switch-label">
          Show all fields
          <Switch label="Show all fields" checked={all} onChange={setAll} />
        </span>
      </div>
      {rows.length === 0 ? (
        <p className="muted">These runs had the same conditions.</p>
      ) : (
        <ScrollArea label="Conditions">
          <table className="difference-table">
            <thead>
              <tr>
                <th scope="col">Field</th>
                {runs.map((run) => (
                  <RunHead key={run.id} run={run} />
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ field, values }) => (
                <tr key={field} className={all && unlike.has(field) ? "differs" : undefined}>
                  <th scope="row">{field}</th>
                  {runs.map((run, index) => (
                    <td key={run.id}>
                      <span className="truncate cell" title={values[index]}>
                        {values[index] || "–"}
                      </span>
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollArea>
      )}
    </section>
  );
}

function RunHead({ run }: { run: Run }) {
  return (
    <th scope="col">
      {run.provider} <span className="muted">#{run.id}</span>
    </th>
  );
}
