import { useEffect, useState } from "react";
import type { CellExplanation, Mask, RowIntervals } from "../../api/types";
import { formatInt, plural } from "../../domain/format";
import { contains, intervalsText, totalLength } from "../../domain/intervals";
import { place } from "../../domain/regions";
import { InlineText } from "../../widgets/DocText";
import type { Cell } from "./maskView";
import type { AxisRegions } from "./useRegions";

interface MaskReadoutProps {
  mask: Mask | null;
  regions: AxisRegions;
  cursor: Cell | null;
  row: RowIntervals | null;
  /** Whether there will be a picture soon. */
  waiting?: boolean;
  explanation: CellExplanation | null;
  /** Counts moves by keyboard: those are spoken, the pointer's are not. */
  spoken: number;
}

/** What the cursor is on, in words, which rule shows it or why none does, and what its row sees. */
export function MaskReadout({ mask, regions, cursor, row, waiting, explanation, spoken }: MaskReadoutProps) {
  const text = mask && cursor ? cellText(regions, cursor, row, explanation) : null;
  const why = text && explanation ? whyText(explanation) : null;
  const speech = useSpeech(why ? `${text} – ${why.replaceAll("`", "")}` : text, spoken);
  return (
    <>
      <div className="mask-readout">
        {mask && cursor && text ? (
          <>
            <span className="cell-text">{text}</span>
            <span className="row-text truncate" title={row ? intervalsText(row.intervals, 40) : undefined}>
              {row
                ? `row sees ${plural(totalLength(row.intervals), "key")}: ${intervalsText(row.intervals, 6)}`
                : "reading the row…"}
            </span>
          </>
        ) : (
          <span className="muted">
            {mask
              ? `${formatInt(mask.statistics.q_len)} queries × ${formatInt(mask.statistics.kv_len)} keys. `
              : waiting && "Waiting for the first picture"}
            {mask && <span className="for-mouse">Point at a cell; drag to move, scroll to zoom.</span>}
            {mask && <span className="for-touch">Tap a cell; two fingers move and zoom.</span>}
          </span>
        )}
        <span className="visually-hidden" aria-live="polite">
          {speech}
        </span>
      </div>
      <p className="mask-why truncate" title={why?.replaceAll("`", "")}>
        {why && <InlineText text={why} />}
      </p>
    </>
  );
}

function cellText(
  regions: AxisRegions,
  cell: Cell,
  row: RowIntervals | null,
  explanation: CellExplanation | null,
): string {
  const query = place("query", cell.q, regions.queries, explanation?.q_token ?? null);
  const where = `${query} – ${place("key", cell.k, regions.keys, explanation?.k_token ?? null)}`;
  if (row === null) return where;
  return `${where} – ${contains(row.intervals, cell.k) ? "visible" : "hidden"}`;
}

/** "line 17: `H sees H causal`" of each rule that shows the cell, or why none does. */
function whyText({ rules, reason }: CellExplanation): string {
  return reason ?? rules.map((rule) => `line ${rule.line}: \`${rule.text}\``).join("; ");
}

/** The text, a moment after the last key press, so that a held key does not speak every cell. */
function useSpeech(text: string | null, spoken: number): string {
  const [speech, setSpeech] = useState("");
  useEffect(() => {
    if (spoken === 0 || text === null) return;
    const timer = setTimeout(() => setSpeech(text), 250);
    return () => clearTimeout(timer);
  }, [text, spoken]);
  return speech;
}
