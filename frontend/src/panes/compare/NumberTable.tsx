import type { Run } from "../../api/types";
import { runLabel } from "../../domain/compareCharts";
import { ScrollArea } from "../../widgets/ScrollArea";

interface NumberTableProps<T extends Run> {
  runs: readonly T[];
  columns: readonly string[];
  cells: (run: T) => string[];
}

/** The numbers of a chart, a line a run. */
export function NumberTable<T extends Run>({ runs, columns, cells }: NumberTableProps<T>) {
  return (
    <ScrollArea label={`Numbers: ${columns.join(", ")}`} className="number-table">
      <table className="mini-table">
        <thead>
          <tr>
            <th scope="col">Run</th>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id}>
              <td>{runLabel(run)}</td>
              {cells(run).map((cell, index) => (
                <td key={columns[index]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}
