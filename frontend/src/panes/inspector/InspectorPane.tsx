import type { CompileResult, CounterExample, Fix, Mask, Span } from "../../api/types";
import { Tabs } from "../../widgets/Tabs";
import { AssertionsView } from "./AssertionsView";
import { DescriptorView } from "./DescriptorView";
import { NumbersView } from "./NumbersView";
import { ProblemsView } from "./ProblemsView";

export type InspectorTab = "numbers" | "descriptor" | "problems";

interface InspectorPaneProps {
  tab: InspectorTab;
  onTab: (tab: InspectorTab) => void;
  /** The last mask that could be drawn; null before the first. */
  mask: Mask | null;
  stale: boolean;
  result: CompileResult | null;
  onForgotten: () => void;
  onGoTo: (span: Span) => void;
  onPoint: (place: CounterExample) => void;
  onFix: (fix: Fix) => void;
}

/** What is known about the mask, in numbers, as formulas, and what is wrong with the text. */
export function InspectorPane(props: InspectorPaneProps) {
  const { tab, onTab, mask, stale, result, onForgotten, onGoTo, onPoint, onFix } = props;
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
    { id: "descriptor", label: "Descriptor" },
    { id: "problems", label: "Problems", extra: badge },
  ] as const;
  return (
    <section className="inspector" aria-label="About this mask">
      <Tabs label="About this mask" name="inspector" items={items} active={tab} onSelect={onTab} />
      <div
        className="inspector-body scroll"
        role="tabpanel"
        id="inspector-panel"
        aria-labelledby={`inspector-tab-${tab}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
      >
        {tab === "numbers" && <NumbersView mask={mask} stale={stale} />}
        {tab === "descriptor" && <DescriptorView mask={mask} stale={stale} onForgotten={onForgotten} />}
        {tab === "problems" && (
          <>
            {(others.length > 0 || !errors) && (
              <ProblemsView diagnostics={others} checked={result !== null} onGoTo={onGoTo} onFix={onFix} />
            )}
            {assertions.length > 0 && <AssertionsView assertions={assertions} onPoint={onPoint} onGoTo={onGoTo} />}
          </>
        )}
      </div>
    </section>
  );
}
