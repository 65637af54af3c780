import type { RuleParts } from "../../api/types";
import { PATTERNS } from "../../domain/cellPatterns";
import type { Layer } from "../../domain/maskQuery";
import { Swatch, type SwatchKind } from "./Swatch";
import type { MaskLook } from "./useMaskLook";

interface MaskLegendProps {
  layer: Layer;
  look: MaskLook;
  rules: RuleParts | null;
  /** What the q tiles are, in words. */
  tiling: string | null;
  onRule: (rule: RuleParts["parts"][number]) => void;
  onHoverRule: (rule: RuleParts["parts"][number] | null) => void;
}

/** What the colours mean. */
export function MaskLegend({ layer, look, rules, tiling, onRule, onHoverRule }: MaskLegendProps) {
  if (layer === "rules") return <RuleLegend look={look} rules={rules} onRule={onRule} onHoverRule={onHoverRule} />;
  if (layer === "tiles")
    return (
      <p className="mask-legend one-line" role="note" aria-label="Legend">
        <span className="tile-bars" aria-hidden="true">
          {[0, 1, 2, 3].map((rule) => (
            <Swatch key={rule} kind="rule" rule={rule} look={look} />
          ))}
        </span>
        <span className="truncate" title={tiling ?? undefined}>
          rows of one colour are one q tile{tiling ? `: ${tiling}` : "; choose a cell to see what its tile reads"}
        </span>
      </p>
    );
  const kernel = layer === "kernel";
  const entries: { kind: SwatchKind; text: string; pattern: "dots" | "rising" | null }[] = [
    { kind: "hidden", text: kernel ? "empty tile, skipped" : "hidden", pattern: null },
    kernel
      ? { kind: "partial", text: "partial tile, tested cell by cell", pattern: "rising" }
      : { kind: "ramp", text: "partly visible", pattern: "rising" },
    { kind: "full", text: kernel ? "full tile" : "visible", pattern: "dots" },
  ];
  return (
    <ul className="mask-legend" aria-label="Legend">
      {entries.map(({ kind, text, pattern }) => (
        <li key={text}>
          <Swatch kind={kind} look={look} pattern={look.patterns ? pattern : null} />
          {text}
        </li>
      ))}
    </ul>
  );
}

function RuleLegend({ look, rules, onRule, onHoverRule }: Omit<MaskLegendProps, "layer" | "tiling">) {
  if (rules === null) return <p className="mask-legend one-line">Reading the rules…</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <ul className="mask-legend rules" aria-label="Legend: rules" tabIndex={0}>
      {rules.parts.map((part, number) => (
        <li key={part.span.start}>
          <button
            type="button"
            onClick={() => onRule(part)}
            onPointerEnter={() => onHoverRule(part)}
            onPointerLeave={() => onHoverRule(null)}
            onFocus={() => onHoverRule(part)}
            onBlur={() => onHoverRule(null)}
            title={`Line ${part.line}: ${part.text}`}
          >
            <Swatch
              kind="rule"
              rule={number}
              look={look}
              pattern={look.patterns ? PATTERNS[number % PATTERNS.length] : null}
            />
            <span className="rule-line">{part.line}</span>
            <code className="truncate">{part.text}</code>
          </button>
        </li>
      ))}
    </ul>
  );
}
