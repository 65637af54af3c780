import type { Data, Layout } from "plotly.js";
import { useMemo } from "react";
import type { Run } from "../../api/types";
import { formatMs } from "../../domain/format";
import type { ThemeName } from "../../domain/palette";
import { hasSpeed } from "../../domain/runText";
import { Chart } from "../../widgets/Chart";

const LAYOUT: Partial<Layout> = {
  grid: { rows: 2, columns: 1, roworder: "top to bottom" },
  xaxis: { title: { text: "Milliseconds" }, domain: [0, 1], anchor: "y" },
  yaxis: { title: { text: "Samples" }, domain: [0, 0.74] },
  yaxis2: { domain: [0.82, 1], showticklabels: false, fixedrange: true },
  bargap: 0.04,
  margin: { t: 6 },
};

/** How the timed calls spread: a histogram with a box above it, and the same in numbers. */
export function RunSamples({ run, theme }: { run: Run; theme: ThemeName }) {
  const samples = run.samples_ms;
  const data = useMemo<Data[]>(
    () => [
      {
        type: "histogram",
        x: samples,
        marker: { opacity: 0.85 },
        hovertemplate: "%{y} samples at %{x} ms<extra></extra>",
      },
      { type: "box", x: samples, yaxis: "y2", boxpoints: "outliers", hoverinfo: "x", name: "" },
    ],
    [samples],
  );
  if (!hasSpeed(run) || samples.length === 0) return null;
  const sorted = [...samples].sort((a, b) => a - b);
  const quantile = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return (
    <section className="card">
      <h2>Samples</h2>
      <Chart label="Distribution of the timed calls" data={data} layout={LAYOUT} theme={theme} height={230} />
      <table className="mini-table">
        <thead>
          <tr>
            {["Fastest", "20 %", "Median", "80 %", "Slowest", "Count"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr>
            <td>{formatMs(quantile(0))}</td>
            <td>{run.p20_ms === null ? "–" : formatMs(run.p20_ms)}</td>
            <td>{formatMs(run.median_ms)}</td>
            <td>{run.p80_ms === null ? "–" : formatMs(run.p80_ms)}</td>
            <td>{formatMs(quantile(1))}</td>
            <td>{samples.length}</td>
          </tr>
        </tbody>
      </table>
    </section>
  );
}
