import type { Data, Layout } from "plotly.js";
import { useMemo, useState } from "react";
import type { ComparedRun, Run } from "../../api/types";
import { formatMs, formatRate, rateUnit } from "../../domain/format";
import { PALETTES, type ThemeName } from "../../domain/palette";
import { plotText } from "../../domain/plotText";
import { hasSpeed } from "../../domain/runText";
import { Chart } from "../../widgets/Chart";
import { Segmented } from "../../widgets/Segmented";

type TimeView = "bars" | "boxes";
const TIME_VIEWS = [
  { id: "bars", label: "Median" },
  { id: "boxes", label: "All samples" },
] as const;
const TIME_LAYOUT: Partial<Layout> = { bargap: 0.5, yaxis: { title: { text: "milliseconds" }, rangemode: "tozero" } };

interface CompareChartsProps {
  runs: readonly ComparedRun[];
  baseline: number;
  theme: ThemeName;
}

/** Times with their spread, and rates, as charts; a table with the same numbers beside each. */
export function CompareCharts({ runs, baseline, theme }: CompareChartsProps) {
  const [view, setView] = useState<TimeView>("bars");
  const measured = useMemo(() => runs.map(({ run }) => run).filter(hasSpeed), [runs]);
  const ink = PALETTES[theme].cursor;
  const times = useMemo(
    () => (view === "bars" ? timeBars(measured, baseline, ink) : timeBoxes(measured)),
    [view, measured, baseline, ink],
  );
  const rates = useMemo(() => rateBars(measured, baseline), [measured, baseline]);
  if (measured.length === 0) {
    return <p className="muted">None of these runs has a speed to draw.</p>;
  }
  return (
    <div className="chart-grid">
      <section className="card">
        <div className="card-head">
          <h2>Time</h2>
          <Segmented label="Chart of times" options={TIME_VIEWS} value={view} onChange={setView} />
        </div>
        <Chart label="Times of the compared runs" data={times} layout={TIME_LAYOUT} theme={theme} height={260} />
        <NumberTable
          runs={measured}
          columns={["median", "20 %", "80 %"]}
          cells={(run) => [run.median_ms, run.p20_ms, run.p80_ms].map((ms) => (ms === null ? "–" : formatMs(ms)))}
        />
      </section>
      <section className="card">
        <div className="card-head">
          <h2>Rate</h2>
        </div>
        <Chart label="Rates of the compared runs" data={rates.data} layout={rates.layout} theme={theme} height={260} />
        <NumberTable
          runs={measured}
          columns={["rate"]}
          cells={(run) => [run.tflops === null ? "–" : formatRate(run.tflops)]}
        />
      </section>
    </div>
  );
}

type Measured = Run & { median_ms: number };

function label(run: Run): string {
  return plotText(`${run.provider} #${run.id}`);
}

/** The baseline is hatched, so that it is not told by colour alone. */
function marker(runs: readonly Run[], baseline: number) {
  return { pattern: { shape: runs.map((run) => (run.id === baseline ? "/" : "")), solidity: 0.45, size: 7 } } as const;
}

function timeBars(runs: readonly Measured[], baseline: number, ink: string): Data[] {
  return [
    {
      type: "bar",
      x: runs.map(label),
      y: runs.map((run) => run.median_ms),
      error_y: {
        type: "data",
        symmetric: false,
        array: runs.map((run) => (run.p80_ms ?? run.median_ms) - run.median_ms),
        arrayminus: runs.map((run) => run.median_ms - (run.p20_ms ?? run.median_ms)),
        color: ink,
        thickness: 1.5,
        width: 6,
      },
      marker: marker(runs, baseline),
      hovertemplate: "%{x}<br>%{y:.4g} ms<extra></extra>",
    } as Data,
  ];
}

function timeBoxes(runs: readonly Measured[]): Data[] {
  return runs.map((run) => ({ type: "box", name: label(run), y: run.samples_ms, boxpoints: "outliers" }) as Data);
}

function rateBars(runs: readonly Measured[], baseline: number): { data: Data[]; layout: Partial<Layout> } {
  const { unit, perTflop } = rateUnit(Math.max(0, ...runs.map((run) => run.tflops ?? 0)));
  const bars = {
    type: "bar",
    x: runs.map(label),
    y: runs.map((run) => (run.tflops === null ? null : run.tflops * perTflop)),
    marker: marker(runs, baseline),
    hovertemplate: `%{x}<br>%{y:.4g} ${unit}<extra></extra>`,
  } as Data;
  return { data: [bars], layout: { bargap: 0.5, yaxis: { title: { text: unit }, rangemode: "tozero" } } };
}

interface NumberTableProps {
  runs: readonly Measured[];
  columns: readonly string[];
  cells: (run: Measured) => string[];
}

function NumberTable({ runs, columns, cells }: NumberTableProps) {
  return (
    <table className="mini-table">
      <thead>
        <tr>
          <th scope="col">run</th>
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
            <td>
              {run.provider} #{run.id}
            </td>
            {cells(run).map((cell, index) => (
              <td key={columns[index]}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
