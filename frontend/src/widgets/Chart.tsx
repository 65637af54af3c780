import type { Config, Data, Layout, LayoutAxis } from "plotly.js";
import { useEffect, useRef, useState } from "react";
import type { ThemeName } from "../domain/palette";

interface ChartProps {
  label: string;
  data: Data[];
  layout?: Partial<Layout>;
  theme: ThemeName;
  height: number;
}

/** Nothing leaves this machine: no cloud button, no logo, no server. */
const CONFIG: Partial<Config> = {
  showSendToCloud: false,
  plotlyServerURL: "",
  displaylogo: false,
  responsive: true,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
};

/** A Plotly chart in the colours of the page. Beside each one stands a table with the same numbers. */
export function Chart({ label, data, layout, theme, height }: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"loading" | "drawn" | "failed">("loading");

  useEffect(() => {
    let current = true;
    const draw = async () => {
      const { default: Plotly } = await import("./plotlyBundle");
      const element = holder.current;
      if (!current || !element) return;
      await Plotly.react(element, data, themed(layout ?? {}, height, theme), CONFIG);
      if (current) setState("drawn");
    };
    draw().catch((error: unknown) => {
      console.error(error);
      if (current) setState("failed");
    });
    return () => {
      current = false;
    };
  }, [data, layout, theme, height]);

  useEffect(() => {
    const element = holder.current;
    return () => {
      if (element) void import("./plotlyBundle").then(({ default: Plotly }) => Plotly.purge(element));
    };
  }, []);

  return (
    <figure className="chart" aria-label={label} style={{ height }}>
      <div ref={holder} style={{ height }} data-chart={state} />
      {state === "loading" && <div className="skeleton chart-wait" />}
      {state === "failed" && (
        <p className="muted chart-wait">The chart could not be drawn; the table has its numbers.</p>
      )}
    </figure>
  );
}

/** Okabe and Ito (2008): told apart by those who see few colours, on either ground. */
const SERIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8f94", "#b8a900"];

function themed(layout: Partial<Layout>, height: number, theme: ThemeName): Partial<Layout> {
  const styles = getComputedStyle(document.documentElement);
  const colour = (name: string) => styles.getPropertyValue(name).trim();
  const axis = {
    gridcolor: colour("--line"),
    zerolinecolor: colour("--line-strong"),
    linecolor: colour("--line-strong"),
    automargin: true,
  };
  return {
    ...layout,
    height,
    autosize: true,
    margin: { l: 56, r: 12, t: 12, b: 40, ...layout.margin },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: colour("--ink-soft") },
    colorway: [...SERIES],
    hoverlabel: { bgcolor: colour("--raised"), bordercolor: colour("--line-strong"), font: { color: colour("--ink") } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--ink-faint"), activecolor: colour("--accent") },
    showlegend: layout.showlegend ?? false,
    xaxis: { ...axis, ...layout.xaxis, title: titled(layout.xaxis) },
    yaxis: { ...axis, ...layout.yaxis, title: titled(layout.yaxis) },
    meta: { theme },
  };
}

/** The title of an axis is as large as its numbers. */
function titled(axis: Partial<LayoutAxis> | undefined): Partial<LayoutAxis["title"]> {
  return { ...axis?.title, font: { size: 12 } };
}
