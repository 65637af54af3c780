import { useEffect, useState } from "react";
import { readItem, writeItem } from "./storage";

const KEY = "compilemask.panes";

/** Widths of the outer panes of the editor's page, remembered. */
export function usePaneWidths() {
  const [widths, setWidths] = useState(() => {
    const [left, right] = (readItem(KEY) ?? "").split(",").map(Number);
    return { left: sane(left, 400), right: sane(right, 316) };
  });
  useEffect(() => {
    writeItem(KEY, `${widths.left},${widths.right}`);
  }, [widths]);
  return {
    ...widths,
    setLeft: (left: number) => setWidths((now) => ({ ...now, left })),
    setRight: (right: number) => setWidths((now) => ({ ...now, right })),
  };
}

function sane(width: number | undefined, otherwise: number): number {
  return width && width >= 200 && width <= 900 ? width : otherwise;
}
