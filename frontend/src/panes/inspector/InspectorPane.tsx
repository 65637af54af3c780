import type { BlockSize, CompileResult, CounterExample, Fix, Mask, Span } from "../../api/types";
import type { Layer } from "../../domain/maskQuery";
import type { Outline } from "../../domain/outline";
import type { MaskPalette } from "../../domain/palette";
import { Button } from "../../widgets/Button";
import { EmptyState } from "../../widgets/Feedback";
import { Tabs } from "../../widgets/Tabs";
import { AssertionsView } from "./AssertionsView";
import { CostView } from "./CostView";
import { DescriptorView } from "./DescriptorView";
import { NumbersView } from "./NumbersView";
import { ProblemsView } from "./ProblemsView";
import { RowView } from "./RowView";

export type InspectorTab = "numbers" | "cost" | "row" | "descriptor" | "problems";

export interface ChosenCell {
  q: number;
  k: number;
}

export interface Blocks {
  blockM: BlockSize;
  blockN: BlockSize;
}

/** What a piece of advice sets. */
export interface Trial {
  blockM?: BlockSize;
  blockN?: BlockSize;
  layer?: Layer;
}

interface InspectorPaneProps {
  tab: InspectorTab;
  onTab: (tab: InspectorTab) => void;
  /** The last mask that could be drawn; null before the first. */
  mask: Mask | null;
  stale: boolean;
  /** The colours of the picture. */
  palette: MaskPalette;
  result: CompileResult | null;
  blocks: Blocks;
  layer: Layer;
  /** The cell that was chosen in the picture. */
  chosen: ChosenCell | null;
  onChoose: (cell: ChosenCell) => void;
  /** Outline something in the picture; `go`: and move there. */
  onOutline: (outline: Outline | null, go: boolean) => void;
  onTry: (trial: Trial) => void;
  onForgotten: () => void;
  onGoTo: (span: Span) => void;
  onPoint: (place: CounterExample) => void;
  onFix: (fix: Fix) => void;
}

/** What is known about the mask: numbers, costs, rows, formulas, and what is wrong with the text. */
export function InspectorPane(props: InspectorPaneProps) {
  const { tab, onTab, mask, stale, palette, result, blocks, layer, chosen, onChoose, onOutline, onTry } = props;
  const { onForgotten, onGoTo, onPoint, onFix } = props;
  const diagnostics = result?.diagnostics ?? [];
  const assertions = result?.assertions ?? [];
  // An assertion that does not hold is told in the list of assertions, with its cell.
  const told = new Set(assertions.map((assertion) => assertion.message));
  const others = diagnostics.filter((diagnostic) => !told.has(diagnostic.message));
  const errors = diagnostics.some((diagnostic) => diagnostic.severity === "error");
  const badge = diagnostics.length > 0 && (
    <span className={errors ? "count bad" : "count warn"}>{diagnostics.length}</span>
  );
  const items = [
    { id: "numbers", label: "Numbers" },
    { id: "cost", label: "Cost" },
    { id: "row", label: "Row" },
    { id: "descriptor", label: "Descriptor" },
    { id: "problems", label: "Problems", extra: badge },
  ] as const;
  // The text has errors, and none before it was drawn.
  const unseen = mask === null && result !== null && errors && tab !== "problems";
  const linked = { mask, stale, chosen, onOutline, onForgotten };
  return (
    <section className="inspector" aria-label="About this mask">
      <h2 className="visually-hidden">About this mask</h2>
      <Tabs label="About this mask" name="inspector" items={items} active={tab} onSelect={onTab} />
      <div
        className="inspector-body scroll"
        role="tabpanel"
        id="inspector-panel"
        aria-labelledby={`inspector-tab-${tab}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
      >
        {unseen && (
          <EmptyState
            icon="grid"
            title="No mask yet"
            actions={
              <Button small onClick={() => onTab("problems")}>
                Show the problems
              </Button>
            }
          >
            What is known about the mask stands here as soon as the program compiles.
          </EmptyState>
        )}
        {!unseen && tab === "numbers" && <NumbersView mask={mask} stale={stale} palette={palette} />}
        {!unseen && tab === "cost" && (
          <CostView mask={mask} stale={stale} blocks={blocks} layer={layer} onTry={onTry} onForgotten={onForgotten} />
        )}
        {!unseen && tab === "row" && <RowView {...linked} onChoose={onChoose} />}
        {!unseen && tab === "descriptor" && <DescriptorView {...linked} blocks={blocks} />}
        {tab === "problems" && (
          <>
            {(others.length > 0 || !errors) && (
              <ProblemsView diagnostics={others} checked={result !== null} onGoTo={onGoTo} onFix={onFix} />
            )}
            {assertions.length > 0 && <AssertionsView assertions={assertions} onPoint={onPoint} onGoTo={onGoTo} />}
          </>
        )}
        {stale && mask !== null && tab !== "problems" && <p className="stale-note">Of the last mask that compiled</p>}
      </div>
    </section>
  );
}
