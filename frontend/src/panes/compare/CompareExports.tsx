import { useMutation } from "@tanstack/react-query";
import type { Comparison } from "../../api/types";
import {
  lengthFigure,
  measuredRuns,
  rateFigure,
  rooflineFigure,
  speedUpFigure,
  timeBarsFigure,
  timeBoxesFigure,
} from "../../domain/compareCharts";
import { PALETTES } from "../../domain/palette";
import { parallelFigure } from "../../domain/parallel";
import { Button } from "../../widgets/Button";
import { CopyButton } from "../../widgets/CopyButton";
import { ErrorNotice } from "../../widgets/Feedback";
import { Menu } from "../../widgets/Menu";
import { plotlyText } from "../../widgets/plotlyText";
import { type ReportChart, reportHtml } from "./reportHtml";

interface CompareExportsProps {
  comparison: Comparison;
  /** Lets the browser keep a file. */
  onSave: (file: { name: string; blob: Blob }) => void;
}

/** A link to this comparison, and files to take away. */
export function CompareExports({ comparison, onSave }: CompareExportsProps) {
  const ids = comparison.runs.map(({ run }) => run.id).join(",");
  const report = useMutation({
    mutationFn: async () => {
      const text = reportHtml(comparison, reportCharts(comparison), await plotlyText(), new Date().toLocaleString());
      onSave({
        name: `compare-${ids.replaceAll(",", "-").slice(0, 60)}.html`,
        blob: new Blob([text], { type: "text/html" }),
      });
    },
  });
  return (
    <>
      <CopyButton
        label="Copy link"
        icon="link"
        look="quiet"
        done="Link copied"
        text={() => `${location.origin}/compare?ids=${ids}&baseline=${comparison.baseline_id}`}
      />
      <Menu label="Export" icon="download">
        <a href={`/api/export/runs?format=csv&ids=${ids}`} download>
          CSV, these runs
        </a>
        <a href={`/api/export/runs?format=json&ids=${ids}`} download>
          JSON, these runs
        </a>
      </Menu>
      <Button icon="download" busy={report.isPending} onClick={() => report.mutate()}>
        HTML report
      </Button>
      {report.isError && <ErrorNotice error={report.error} />}
    </>
  );
}

/** The page's charts, in the colours of paper. */
function reportCharts({ runs, baseline_id }: Comparison): ReportChart[] {
  const measured = measuredRuns(runs);
  const ink = PALETTES.light.cursor;
  if (measured.length === 0) return [];
  const charts = [
    { title: "Speed-up", figure: speedUpFigure(runs, ink) },
    { title: "Time", figure: timeBarsFigure(measured, baseline_id, ink) },
    { title: "All samples", figure: timeBoxesFigure(measured) },
    { title: "Rate", figure: rateFigure(measured, baseline_id) },
    { title: "Time by length", figure: lengthFigure(measured) },
    { title: "Roofline", figure: rooflineFigure(measured, ink) },
    { title: "Parallel coordinates", figure: parallelFigure(measured, baseline_id, ink) },
  ];
  return charts.flatMap(({ title, figure }) => (figure ? [{ title, figure }] : []));
}
