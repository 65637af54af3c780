/** A comparison as one HTML file that opens alone: numbers, commands, and charts that are drawn without any server. */

import type { Comparison } from "../../api/types";
import { changeOf } from "../../domain/change";
import type { Figure } from "../../domain/compareCharts";
import { formatError, formatMs, formatRate } from "../../domain/format";
import { errorText, hasSpeed, shapeText, sizeText } from "../../domain/runText";
import { summarize } from "../../domain/values";

export interface ReportChart {
  title: string;
  figure: Figure;
}

const STYLE = `body{margin:32px auto;max-width:1200px;padding:0 20px;font:14px/1.45 system-ui,sans-serif;color:#171b20;background:#fff}
h1{font-size:22px}h2{font-size:16px;margin:32px 0 8px}table{border-collapse:collapse;width:100%;font-size:12px}
th,td{padding:6px 10px 6px 0;border-bottom:1px solid #e0e3e7;text-align:left;vertical-align:top}th{color:#626b75;font-weight:500}
td.n{text-align:right;font-family:ui-monospace,monospace;white-space:nowrap}pre,code{font-family:ui-monospace,monospace;font-size:12px}
pre{padding:10px 12px;background:#f4f5f6;white-space:pre-wrap;overflow-wrap:anywhere}.warn{padding:8px 12px;background:#fdf1dc;color:#8a5200}
.scroll{overflow-x:auto}`;

/** plotly: the text of a script that defines `Plotly`. made: when, in words. */
export function reportHtml(
  comparison: Comparison,
  charts: readonly ReportChart[],
  plotly: string,
  made: string,
): string {
  const ids = comparison.runs.map(({ run }) => run.id).join(", ");
  const figures = charts.map(({ figure }) => ({ data: figure.data, layout: figure.layout }));
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>CompileMask: runs ${escapeHtml(ids)}</title><style>${STYLE}</style></head><body>
<h1>Comparison of runs ${escapeHtml(ids)}</h1><p>Baseline: run ${comparison.baseline_id}. Made ${escapeHtml(made)} by CompileMask Studio.</p>
${comparison.warnings.map((warning) => `<p class="warn">${escapeHtml(warning)}</p>`).join("\n")}
<h2>Runs</h2><div class="scroll">${runsTable(comparison)}</div>
${charts.map(({ title }, index) => `<h2>${escapeHtml(title)}</h2><div id="chart-${index}" style="height:360px"></div>`).join("\n")}
<h2>Differences</h2><div class="scroll">${fieldsTable(comparison)}</div>
<h2>Commands that repeat the runs</h2>
${comparison.runs.map(({ run }) => `<p>Run ${run.id}</p><pre>${escapeHtml(run.command ?? "none was kept")}</pre>`).join("\n")}
${programs(comparison)}
<script>${plotly.replaceAll("</script", "<\\/script")}</script>
<script type="application/json" id="figures">${JSON.stringify(figures).replaceAll("<", "\\u003c")}</script>
<script>JSON.parse(document.getElementById("figures").textContent).forEach(function (figure, index) {
  var axis = { automargin: true };
  var layout = Object.assign({ margin: { l: 60, r: 20, t: 20, b: 50 }, showlegend: false }, figure.layout);
  layout.xaxis = Object.assign({}, axis, layout.xaxis); layout.yaxis = Object.assign({}, axis, layout.yaxis);
  Plotly.newPlot("chart-" + index, figure.data, layout, { displaylogo: false, showSendToCloud: false, plotlyServerURL: "", responsive: true });
});</script></body></html>
`;
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

function runsTable({ runs, baseline_id }: Comparison): string {
  const head = [
    "Run",
    "Name",
    "Verdict",
    "Provider",
    "Mask",
    "Tokens",
    "Shape",
    "dtype",
    "Direction",
    "Error / allowed",
    "Median",
    "20–80 %",
    "Rate",
    "Against",
  ];
  const rows = runs.map((compared) => {
    const { run } = compared;
    const range = run.p20_ms === null || run.p80_ms === null ? "" : `${formatMs(run.p20_ms)} – ${formatMs(run.p80_ms)}`;
    const against =
      run.id === baseline_id ? "baseline" : compared.is_reference ? "baseline of its case" : changeOf(compared).text;
    const words = [String(run.id), run.name, run.verdict, run.provider, `${run.mask_name} ${summarize(run.values)}`];
    const numbers = [
      sizeText(run),
      shapeText(run),
      run.dtype,
      run.direction,
      run.tolerance === null ? "–" : `${errorText(run)} / ${formatError(run.tolerance)}`,
      hasSpeed(run) ? formatMs(run.median_ms) : "–",
      hasSpeed(run) ? range : "–",
      hasSpeed(run) && run.tflops !== null ? formatRate(run.tflops) : "–",
      against,
    ];
    const cells = [
      ...words.map((word) => `<td>${escapeHtml(word)}</td>`),
      ...numbers.map((text) => `<td class="n">${escapeHtml(text)}</td>`),
    ];
    return `<tr>${cells.join("")}</tr>`;
  });
  return `<table><thead><tr>${head.map((name) => `<th>${name}</th>`).join("")}</tr></thead><tbody>${rows.join("\n")}</tbody></table>`;
}

function fieldsTable({ runs, fields }: Comparison): string {
  const differing = fields.filter((row) => row.differs);
  const head = runs.map(({ run }) => `<th>${escapeHtml(run.provider)} #${run.id}</th>`).join("");
  const rows = differing.map(
    (row) =>
      `<tr><th>${escapeHtml(row.field)}</th>${row.values.map((value) => `<td><code>${escapeHtml(value.slice(0, 200))}</code></td>`).join("")}</tr>`,
  );
  return `<table><thead><tr><th>Field</th>${head}</tr></thead><tbody>${rows.join("\n")}</tbody></table>`;
}

function programs({ runs }: Comparison): string {
  const sources = [...new Set(runs.map(({ run }) => run.source.trim()))];
  return `<h2>Programs</h2>\n${sources.map((source) => `<pre>${escapeHtml(source)}</pre>`).join("\n")}`;
}
