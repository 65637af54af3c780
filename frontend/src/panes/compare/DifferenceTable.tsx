import { Fragment, useState } from "react";
import type { Comparison, Run } from "../../api/types";
import { FIELD_GROUPS } from "../../domain/generated/names";
import { ScrollArea } from "../../widgets/ScrollArea";
import { Switch } from "../../widgets/Switch";

const GROUP_NAMES: Record<(typeof FIELD_GROUPS)[number], string> = {
  mask: "Mask",
  numbers: "Numbers of the mask",
  case: "Case",
  environment: "Environment",
  results: "Results",
};

/** What the runs were and what came of them, side by side: by default only where they differ. */
export function DifferenceTable({ comparison }: { comparison: Comparison }) {
  const [all, setAll] = useState(false);
  const runs = comparison.runs.map(({ run }) => run);
  const rows = comparison.fields.filter((row) => all || row.differs);
  return (
    <section className="card">
      <div className="card-head">
        <h2>{all ? "All fields" : "Differences"}</h2>
        <span className="switch-label">
          Show all fields
          <Switch label="Show all fields" checked={all} onChange={setAll} />
        </span>
      </div>
      {rows.length === 0 ? (
        <p className="muted">These runs agree in everything.</p>
      ) : (
        <ScrollArea label="Fields of the compared runs">
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
              {FIELD_GROUPS.map((group) => {
                const members = rows.filter((row) => row.group === group);
                return members.length === 0 ? null : (
                  <Fragment key={group}>
                    <tr className="group-row">
                      <th colSpan={runs.length + 1} scope="rowgroup">
                        {GROUP_NAMES[group]}
                      </th>
                    </tr>
                    {members.map(({ field, values, differs }) => (
                      <tr key={field} className={all && differs ? "differs" : undefined} data-field={field}>
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
                  </Fragment>
                );
              })}
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
