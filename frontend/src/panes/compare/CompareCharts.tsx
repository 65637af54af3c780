import { useMemo, useState } from "react";
import type { ComparedRun } from "../../api/types";
import {
  type Figure,
  lengthFigure,
  lengthLines,
  type Measured,
  measuredRuns,
  rateFigure,
  rooflineFigure,
  speedUpFigure,
  timeBarsFigure,
  timeBoxesFigure,
} from "../../domain/compareCharts";
import { formatInt, formatMs, formatPercent, formatRate, formatSignificant } from "../../domain/format";
import { PALETTES, type ThemeName } from "../../domain/palette";
import { parallelFigure } from "../../domain/parallel";
import { roofOf, runIntensity } from "../../domain/roofline";
import { Chart } from "../../widgets/Chart";
import { Segmented } from "../../widgets/Segmented";
import { NumberTable } from "./NumberTable";

type TimeView = "bars" | "boxes";
const TIME_VIEWS = [
  { id: "bars", label: "Median" },
  { id: "boxes", label: "All samples" },
] as const;

interface CompareChartsProps {
  runs: readonly ComparedRun[];
  baseline: number;
  theme: ThemeName;
}

/** Speed-ups and times with their spread, rates, lengths, the roof: each with a table of the same numbers. */
export function CompareCharts({ runs, baseline, theme }: CompareChartsProps) {
  const measured = useMemo(() => measuredRuns(runs), [runs]);
  const ink = PALETTES[theme].cursor;
  const figures = useMemo(
    () => ({
      speedUp: speedUpFigure(runs, ink),
      rate: rateFigure(measured, baseline),
      length: lengthFigure(measured),
      roofline: rooflineFigure(measured, ink),
      parallel: parallelFigure(measured, baseline, ink),
    }),
    [runs, measured, baseline, ink],
  );
  if (measured.length === 0) {
    return <p className="muted">None of these runs has a speed to draw.</p>;
  }
  const card = (title: string, label: string, figure: Figure | null, table: React.ReactNode) =>
    figure && (
      <section className="card">
        <div className="card-head">
          <h2>{title}</h2>
        </div>
        <Chart label={label} data={figure.data} layout={figure.layout} theme={theme} height={280} />
        {table}
      </section>
    );
  return (
    <>
      <div className="chart-grid">
        {card("Speed-up", "How many times as fast each run is", figures.speedUp, <SpeedUps runs={runs} />)}
        <Times runs={measured} baseline={baseline} theme={theme} ink={ink} />
        {card(
          "Rate",
          "Rates of the compared runs",
          figures.rate,
          <NumberTable
            runs={measured}
            columns={["Rate"]}
            cells={(run) => [run.tflops === null ? "–" : formatRate(run.tflops)]}
          />,
        )}
        {card("Time by length", "Times by the number of queries", figures.length, <Lengths runs={measured} />)}
        {card("Roofline", "Rates by arithmetic intensity", figures.roofline, <Roofs runs={measured} />)}
      </div>
      {figures.parallel && (
        <section className="card">
          <h2>Parallel coordinates</h2>
          <p className="muted small-text">
            One line a run over every field in which they differ; its numbers stand in the table above.
          </p>
          <Chart
            label="Runs as lines over the fields in which they differ"
            data={figures.parallel.data}
            layout={figures.parallel.layout}
            theme={theme}
            height={340}
          />
        </section>
      )}
    </>
  );
}

interface TimesProps {
  runs: readonly Measured[];
  baseline: number;
  theme: ThemeName;
  ink: string;
}

function Times({ runs, baseline, theme, ink }: TimesProps) {
  const [view, setView] = useState<TimeView>("bars");
  const figure = useMemo(
    () => (view === "bars" ? timeBarsFigure(runs, baseline, ink) : timeBoxesFigure(runs)),
    [view, runs, baseline, ink],
  );
  return (
    <section className="card">
      <div className="card-head">
        <h2>Time</h2>
        <Segmented label="Chart of times" options={TIME_VIEWS} value={view} onChange={setView} />
      </div>
      <Chart label="Times of the compared runs" data={figure.data} layout={figure.layout} theme={theme} height={280} />
      <NumberTable
        runs={runs}
        columns={["Median", "20 %", "80 %"]}
        cells={(run) => [run.median_ms, run.p20_ms, run.p80_ms].map((ms) => (ms === null ? "–" : formatMs(ms)))}
      />
    </section>
  );
}

function SpeedUps({ runs }: { runs: readonly ComparedRun[] }) {
  const times = (value: number | null) => (value === null ? "–" : `${formatSignificant(value)}×`);
  const compared = runs.filter((row) => row.ratio !== null && !row.is_reference);
  return (
    <NumberTable
      runs={compared.map((row) => row.run)}
      columns={["Against", "Times as fast", "At least", "At most"]}
      cells={(run) => {
        const row = compared.find((other) => other.run.id === run.id);
        return row ? [`#${row.against}`, times(row.ratio), times(row.ratio_low), times(row.ratio_high)] : [];
      }}
    />
  );
}

function Lengths({ runs }: { runs: readonly Measured[] }) {
  const lines = [...lengthLines(runs)];
  const lengths = [...new Set(lines.flatMap(([, members]) => members.map((run) => run.q_len)))].sort((a, b) => a - b);
  return (
    <div className="scroll">
      <table className="mini-table">
        <thead>
          <tr>
            <th scope="col">Queries</th>
            {lines.map(([name]) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lengths.map((length) => (
            <tr key={length}>
              <td>{formatInt(length)}</td>
              {lines.map(([name, members]) => {
                const run = members.find((one) => one.q_len === length);
                return <td key={name}>{run ? formatMs(run.median_ms) : "–"}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Roofs({ runs }: { runs: readonly Measured[] }) {
  return (
    <NumberTable
      runs={runs}
      columns={["FLOP a byte", "Rate", "Of the data sheet"]}
      cells={(run) => {
        const intensity = runIntensity(run);
        const roof = roofOf(run);
        if (intensity === null || run.tflops === null) return ["–", "–", "–"];
        const limit = roof && Math.min(roof.tflops, (intensity * roof.bytesPerSecond) / 1e12);
        return [
          formatSignificant(intensity),
          formatRate(run.tflops),
          limit ? formatPercent(run.tflops / limit) : "not known",
        ];
      }}
    />
  );
}
