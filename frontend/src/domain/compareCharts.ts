/** The charts of a comparison as Plotly takes them, for the page and for the report: only runs that have a speed. */

import type { Data, Layout } from "plotly.js";
import type { ComparedRun, Run } from "../api/types";
import { formatInt, formatSize, rateUnit } from "./format";
import { plotText } from "./plotText";
import { roofOf, runIntensity } from "./roofline";
import { hasSpeed, shapeText } from "./runText";

export type Measured = Run & { median_ms: number };

export interface Figure {
  data: Data[];
  layout: Partial<Layout>;
}

/** Colours and marks tell the lines apart: those who see no colour have the marks. */
const MARKS = ["circle", "square", "diamond", "triangle-up", "x", "star", "cross", "triangle-down"];
const DASHES = ["solid", "dash", "dot", "dashdot"] as const;

export function measuredRuns(runs: readonly ComparedRun[]): Measured[] {
  return runs.map(({ run }) => run).filter(hasSpeed);
}

export function runLabel(run: Run): string {
  return `${run.provider} #${run.id}`;
}

/** Ratios to what each run is compared with; the whiskers are what both 20-80 % intervals allow. */
export function speedUpFigure(runs: readonly ComparedRun[], ink: string): Figure | null {
  const compared = runs.filter((row) => row.ratio !== null && !row.is_reference);
  if (compared.length === 0) return null;
  const ratio = (row: ComparedRun) => row.ratio ?? 1;
  return {
    data: [
      {
        type: "bar",
        x: compared.map(({ run }) => plotText(runLabel(run))),
        y: compared.map(ratio),
        error_y: {
          type: "data",
          symmetric: false,
          array: compared.map((row) => (row.ratio_high ?? ratio(row)) - ratio(row)),
          arrayminus: compared.map((row) => ratio(row) - (row.ratio_low ?? ratio(row))),
          color: ink,
          thickness: 1.5,
          width: 6,
        },
        marker: { pattern: { shape: compared.map((row) => (row.significant ? "" : "/")), solidity: 0.4, size: 6 } },
        customdata: compared.map((row) => `#${row.against}`),
        hovertemplate: "%{x}<br>%{y:.3g} times as fast as %{customdata}<extra></extra>",
      } as Data,
    ],
    layout: {
      bargap: 0.5,
      yaxis: { title: { text: "Times as fast" }, rangemode: "tozero" },
      shapes: [
        { type: "line", xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1, line: { color: ink, width: 1, dash: "dash" } },
      ],
    },
  };
}

export function timeBarsFigure(runs: readonly Measured[], baseline: number, ink: string): Figure {
  return {
    data: [
      {
        type: "bar",
        x: runs.map((run) => plotText(runLabel(run))),
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
        marker: baselineMarker(runs, baseline),
        hovertemplate: "%{x}<br>%{y:.4g} ms<extra></extra>",
      } as Data,
    ],
    layout: { bargap: 0.5, yaxis: { title: { text: "Milliseconds" }, rangemode: "tozero" } },
  };
}

export function timeBoxesFigure(runs: readonly Measured[]): Figure {
  return {
    data: runs.map(
      (run) => ({ type: "box", name: plotText(runLabel(run)), y: run.samples_ms, boxpoints: "outliers" }) as Data,
    ),
    layout: { yaxis: { title: { text: "Milliseconds" }, rangemode: "tozero" } },
  };
}

export function rateFigure(runs: readonly Measured[], baseline: number): Figure {
  const { unit, perTflop } = rateUnit(Math.max(0, ...runs.map((run) => run.tflops ?? 0)));
  return {
    data: [
      {
        type: "bar",
        x: runs.map((run) => plotText(runLabel(run))),
        y: runs.map((run) => (run.tflops === null ? null : run.tflops * perTflop)),
        marker: baselineMarker(runs, baseline),
        hovertemplate: `%{x}<br>%{y:.4g} ${unit}<extra></extra>`,
      } as Data,
    ],
    layout: { bargap: 0.5, yaxis: { title: { text: unit }, rangemode: "tozero" } },
  };
}

/** Runs of one provider and shape that differ in length, by the number of queries; null when no two do. */
export function lengthFigure(runs: readonly Measured[]): Figure | null {
  const lines = [...lengthLines(runs)];
  if (lines.length === 0) return null;
  const lengths = [...new Set(lines.flatMap(([, members]) => members.map((run) => run.q_len)))].sort((a, b) => a - b);
  return {
    data: lines.map(
      ([name, members], index) =>
        ({
          type: "scatter",
          mode: "lines+markers",
          name: plotText(name),
          x: members.map((run) => run.q_len),
          y: members.map((run) => run.median_ms),
          error_y: {
            type: "data",
            symmetric: false,
            array: members.map((run) => (run.p80_ms ?? run.median_ms) - run.median_ms),
            arrayminus: members.map((run) => run.median_ms - (run.p20_ms ?? run.median_ms)),
            thickness: 1,
            width: 4,
          },
          line: { dash: DASHES[index % DASHES.length] },
          marker: { symbol: MARKS[index % MARKS.length], size: 8 },
          hovertemplate: "%{x:,} queries<br>%{y:.4g} ms<extra>%{fullData.name}</extra>",
        }) as Data,
    ),
    layout: {
      showlegend: true,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
      xaxis: { title: { text: "Queries" }, type: "log", tickvals: lengths, ticktext: lengths.map(formatSize) },
      yaxis: { title: { text: "Milliseconds" }, type: "log", dtick: "D2" },
    },
  };
}

/** By the name of each line its runs, the shortest first: lines of one point are none. */
export function lengthLines(runs: readonly Measured[]): Map<string, Measured[]> {
  const lines = new Map<string, Measured[]>();
  for (const run of runs) {
    const name = `${run.provider}, ${run.mask_name}, ${shapeText(run)}, ${run.dtype}, ${run.direction}`;
    lines.set(name, [...(lines.get(name) ?? []), run]);
  }
  for (const [name, members] of lines) {
    members.sort((a, b) => a.q_len - b.q_len);
    if (new Set(members.map((run) => run.q_len)).size < 2) lines.delete(name);
  }
  return shortNames(lines);
}

/** Rates by arithmetic intensity, under the roof of the device where its data sheet is known. */
export function rooflineFigure(runs: readonly Measured[], ink: string): Figure | null {
  const points = runs.filter((run) => run.tflops !== null && runIntensity(run) !== null);
  if (points.length === 0) return null;
  const intensities = points.map((run) => runIntensity(run) ?? 1);
  const providers = [...new Set(points.map((run) => run.provider))];
  const dots = providers.map((provider, index) => {
    const own = points.filter((run) => run.provider === provider);
    return {
      type: "scatter",
      mode: "markers",
      name: plotText(provider),
      x: own.map(runIntensity),
      y: own.map((run) => run.tflops),
      text: own.map((run) => plotText(`#${run.id}, ${formatInt(run.q_len)} queries`)),
      marker: { symbol: MARKS[index % MARKS.length], size: 9 },
      hovertemplate: "%{text}<br>%{x:.3s} FLOP a byte<br>%{y:.4g} TFLOP/s<extra>%{fullData.name}</extra>",
    } as Data;
  });
  const [least, most] = [Math.min(...intensities) / 4, Math.max(...intensities) * 4];
  const first = points[0];
  const roof =
    first && points.every((run) => run.device === first.device && run.dtype === first.dtype) ? roofOf(first) : null;
  const lines: Data[] = [];
  if (roof) {
    const ridge = (roof.tflops * 1e12) / roof.bytesPerSecond;
    const xs = [Math.min(least, ridge / 4), ridge, Math.max(most, ridge * 4)];
    lines.push({
      type: "scatter",
      mode: "lines",
      name: "data sheet",
      x: xs,
      y: xs.map((x) => Math.min(roof.tflops, (x * roof.bytesPerSecond) / 1e12)),
      line: { color: ink, width: 1.5, dash: "dash" },
      hovertemplate: "%{y:.4g} TFLOP/s<extra>data sheet</extra>",
    } as Data);
  }
  return {
    data: [...lines, ...dots],
    layout: {
      showlegend: true,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
      xaxis: { title: { text: "FLOP a byte of q, k, v and o" }, type: "log", dtick: "D2", tickformat: "~s" },
      yaxis: { title: { text: "TFLOP/s" }, type: "log", dtick: "D2" },
    },
  };
}

function baselineMarker(runs: readonly Run[], baseline: number) {
  // The baseline is hatched, so that it is not told by colour alone.
  return { pattern: { shape: runs.map((run) => (run.id === baseline ? "/" : "")), solidity: 0.45, size: 7 } };
}

/** Parts that all names share say nothing. */
function shortNames<T>(lines: Map<string, T>): Map<string, T> {
  const parts = [...lines.keys()].map((name) => name.split(", "));
  const differs = (at: number) => at === 0 || new Set(parts.map((words) => words[at])).size > 1;
  return new Map(
    [...lines].map(([name, value]) => [
      name
        .split(", ")
        .filter((_, at) => differs(at))
        .join(", "),
      value,
    ]),
  );
}
