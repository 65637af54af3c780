/** Runs as lines over axes that each have a scale of their own. */

import type { Data, Layout } from "plotly.js";
import type { Measured } from "./compareCharts";
import { formatError, formatInt, formatMs, formatSignificant } from "./format";
import { plotText } from "./plotText";

interface AxisOf {
  name: string;
  value: (run: Measured) => number | string | null;
  text?: (value: number) => string;
  log?: boolean;
}

const AXES: readonly AxisOf[] = [
  { name: "mask", value: (run) => run.mask_name },
  { name: "queries", value: (run) => run.q_len, text: formatInt, log: true },
  { name: "density", value: (run) => run.density, text: (value) => formatSignificant(value) },
  { name: "head_dim", value: (run) => run.head_dim, text: String },
  { name: "dtype", value: (run) => run.dtype },
  { name: "direction", value: (run) => run.direction },
  { name: "provider", value: (run) => run.provider },
  { name: "error", value: (run) => run.max_error, text: formatError, log: true },
  { name: "median", value: (run) => run.median_ms, text: formatMs, log: true },
  { name: "TFLOP/s", value: (run) => run.tflops, text: (value) => formatSignificant(value), log: true },
];

/** Null when fewer than two axes tell the runs apart. */
export function parallelFigure(
  runs: readonly Measured[],
  baseline: number,
  ink: string,
): { data: Data[]; layout: Partial<Layout> } | null {
  const axes = AXES.filter(({ value }) => new Set(runs.map(value)).size > 1);
  if (axes.length < 2 || runs.length < 2) return null;
  const scales = axes.map((axis) => scaleOf(axis, runs));
  const providers = [...new Set(runs.map((run) => run.provider))];
  const lines = runs.map(
    (run) =>
      ({
        type: "scatter",
        mode: "lines+markers",
        x: axes.map((_, at) => at),
        y: scales.map((scale) => scale.place(run)),
        text: axes.map((axis, at) => plotText(`${axis.name} ${scales[at]?.text(run) ?? ""}`)),
        name: plotText(`${run.provider} #${run.id}`),
        legendgroup: run.provider,
        line: {
          width: run.id === baseline ? 4 : 1.8,
          dash: (["solid", "dash", "dot", "dashdot"] as const)[providers.indexOf(run.provider) % 4],
        },
        marker: { size: 5 },
        hovertemplate: "%{text}<extra>%{fullData.name}</extra>",
      }) as Data,
  );
  return {
    data: lines,
    layout: {
      hovermode: "closest",
      margin: { t: 30, l: 70, r: 70, b: 30 },
      xaxis: {
        tickvals: axes.map((_, at) => at),
        ticktext: axes.map((axis) => axis.name),
        range: [-0.35, axes.length - 0.65],
        side: "top",
        fixedrange: true,
        zeroline: false,
      },
      yaxis: { visible: false, range: [-0.08, 1.08], fixedrange: true },
      annotations: scales.flatMap((scale, at) =>
        scale.ticks.map(([y, text]) => ({
          x: at,
          y,
          text: plotText(text),
          showarrow: false,
          xanchor: "right" as const,
          xshift: -6,
          font: { size: 10, color: ink },
        })),
      ),
    },
  };
}

function scaleOf({ value, text = String, log }: AxisOf, runs: readonly Measured[]) {
  const values = runs.map(value);
  const numbers = values.filter((item) => typeof item === "number");
  if (numbers.length === 0) {
    const names = [...new Set(values.map(String))].sort();
    const at = (name: string) => (names.length < 2 ? 0.5 : names.indexOf(name) / (names.length - 1));
    return {
      place: (run: Measured) => at(String(value(run))),
      text: (run: Measured) => String(value(run)),
      ticks: names.map((name): [number, string] => [at(name), name]),
    };
  }
  const positive = log && numbers.every((item) => item > 0);
  const along = (item: number) => (positive ? Math.log(item) : item);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const width = along(high) - along(low) || 1;
  return {
    place: (run: Measured) => {
      const own = value(run);
      return typeof own === "number" ? (along(own) - along(low)) / width : null;
    },
    text: (run: Measured) => {
      const own = value(run);
      return typeof own === "number" ? text(own) : "–";
    },
    ticks: [
      [0, text(low)],
      [1, text(high)],
    ] as [number, string][],
  };
}
