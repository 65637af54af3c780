import type { Extension } from "@codemirror/state";
import { useRef } from "react";
import type { CellDifference, CompileResult, MaskDiff } from "../../api/types";
import { type Draft, sameDraft } from "../../domain/drafts";
import { formatInt, plural } from "../../domain/format";
import type { ThemeName } from "../../domain/palette";
import { Button } from "../../widgets/Button";
import { Icon } from "../../widgets/Icon";
import { DiffCanvas, type DiffCanvasHandle } from "./DiffCanvas";
import { NumbersTable, StatisticsTable } from "./DiffTables";
import { SourceDiff } from "./SourceDiff";

interface DiffPaneProps {
  left: Draft;
  right: Draft;
  diff: MaskDiff;
  theme: ThemeName;
  extensions: readonly Extension[];
  onForgotten: () => void;
}

/** Everything about two masks: whether their cells are the same, which are not, their numbers, their texts. */
export function DiffPane({ left, right, diff, theme, extensions, onForgotten }: DiffPaneProps) {
  const canvas = useRef<DiffCanvasHandle>(null);
  const { cells } = diff;
  return (
    <div className="diff">
      <Verdict diff={diff} sameText={sameDraft(left, right)} onShow={(cell) => canvas.current?.show(cell)} />
      <div className="diff-columns">
        {cells && <DiffCanvas ref={canvas} cells={cells} theme={theme} onForgotten={onForgotten} />}
        <div className="diff-facts">
          {diff.left.mask && diff.right.mask && (
            <StatisticsTable left={diff.left.mask.statistics} right={diff.right.mask.statistics} />
          )}
          <NumbersTable left={diff.left} right={diff.right} />
        </div>
      </div>
      <section className="diff-source" aria-label="Texts">
        <h2>Texts</h2>
        {left.source === right.source ? (
          <p className="muted">The texts are the same.</p>
        ) : (
          <SourceDiff left={left.source} right={right.source} extensions={extensions} />
        )}
      </section>
    </div>
  );
}

interface VerdictProps {
  diff: MaskDiff;
  sameText: boolean;
  onShow: (cell: { q: number; k: number }) => void;
}

function Verdict({ diff, sameText, onShow }: VerdictProps) {
  const { cells } = diff;
  if (!cells) {
    return (
      <div className="diff-verdict bad" role="status">
        <Icon name="error" />
        <div>
          <b>There are no cells to compare.</b> {brokenText("left", diff.left)} {brokenText("right", diff.right)}
        </div>
      </div>
    );
  }
  if (cells.same) {
    return (
      <div className="diff-verdict good" role="status">
        <Icon name="check" />
        <div>
          <b>The masks are the same.</b> All {formatInt(cells.common)} visible cells agree
          {sameText ? "." : ", though the texts or numbers differ."}
        </div>
      </div>
    );
  }
  return (
    <div className="diff-verdict" role="status">
      <Icon name="diff" />
      <div>
        <b>{headline(cells)}</b> {formatInt(cells.common)} are in both.
        {!cells.same_size && " The sizes differ; both masks begin at query 0 and key 0."}
      </div>
      <div className="jumps">
        {cells.first_added && <Jump kind="added" cell={cells.first_added} onShow={onShow} />}
        {cells.first_removed && <Jump kind="removed" cell={cells.first_removed} onShow={onShow} />}
      </div>
    </div>
  );
}

function Jump({
  kind,
  cell,
  onShow,
}: {
  kind: string;
  cell: { q: number; k: number };
  onShow: VerdictProps["onShow"];
}) {
  return (
    <Button small onClick={() => onShow(cell)}>
      First {kind}: query {formatInt(cell.q)}, key {formatInt(cell.k)}
    </Button>
  );
}

function headline({ added, removed }: CellDifference): string {
  if (added === 0 && removed === 0) return "The visible cells are the same, the sizes are not.";
  const parts = [added > 0 && `${plural(added, "cell")} added`, removed > 0 && `${plural(removed, "cell")} removed`];
  return `${parts.filter(Boolean).join(", ")}.`;
}

function brokenText(side: string, { diagnostics, mask }: CompileResult): string {
  if (mask) return "";
  const error = diagnostics.find(({ severity }) => severity === "error");
  return `The ${side} text has an error${error ? ` in line ${error.line}: ${error.message.replaceAll("`", "")}` : ""}.`;
}
