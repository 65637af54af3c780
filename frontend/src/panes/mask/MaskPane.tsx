import { type Ref, useEffect, useId, useImperativeHandle, useRef, useState } from "react";
import type { MaskTile } from "../../api/tileBundle";
import type { BatchPlace, CellExplanation, CounterExample, Mask, RuleParts, TilePlace } from "../../api/types";
import type { Layer } from "../../domain/maskQuery";
import type { Outline } from "../../domain/outline";
import { Button } from "../../widgets/Button";
import { InlineText } from "../../widgets/DocText";
import { EmptyState } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";
import { MaskLegend } from "./MaskLegend";
import { MaskReadout } from "./MaskReadout";
import { type Blocks, MaskToolbar } from "./MaskToolbar";
import { Minimap } from "./Minimap";
import type { Cell } from "./maskView";
import { stateText } from "./stateText";
import { type ExplainedMask, useExplanation } from "./useExplanation";
import type { MaskLook } from "./useMaskLook";
import { useMaskView } from "./useMaskView";
import { useRegions } from "./useRegions";
import { useRow } from "./useRow";

export interface MaskPaneHandle {
  /** Show and mark a cell, a row or a column. */
  point: (place: CounterExample) => void;
  /** Which tiles of a mask the picture would show at the moment. */
  wantedTiles: () => TilePlace[];
}

type RulePart = RuleParts["parts"][number];

interface MaskPaneProps {
  mask: Mask | null;
  /** Tiles that came with it. */
  tiles: readonly MaskTile[];
  /** Whether `mask` is the answer to the latest text and numbers. */
  fresh: boolean;
  /** The text and the numbers that gave the mask. */
  maskOf: ExplainedMask | null;
  look: MaskLook;
  layer: Layer;
  onLayer: (layer: Layer) => void;
  blocks: Blocks;
  automaticBlocks: boolean;
  onBlocks: (blocks: Blocks | null) => void;
  batch: BatchPlace | null;
  onPlace: (item: number, head: number) => void;
  /** The rules of `mask`, where they are needed; null until they are known. */
  rules: RuleParts | null;
  /** Why they cannot be known. */
  rulesFault: string | null;
  /** The rule whose cells are lit. */
  litRule: RulePart | null;
  onRule: (rule: RulePart) => void;
  onHoverRule: (rule: RulePart | null) => void;
  /** What is chosen in a list; `go`: move there. */
  outline: { outline: Outline; go: boolean } | null;
  tiling: string | null;
  chosen: Cell | null;
  onChoose: (cell: Cell | null) => void;
  /** The text has errors, so this is the last picture that could be drawn; the banner says why. */
  stale: string | null;
  /** The server forgot this mask: compile again. */
  onForgotten: () => void;
  /** What is known about the cell that the cursor rests on; null when nothing is. */
  onExplained: (explanation: CellExplanation | null) => void;
  ref?: Ref<MaskPaneHandle>;
}

export function MaskPane(props: MaskPaneProps) {
  const { mask, tiles, maskOf, look, layer, blocks, rules, rulesFault, litRule, outline, chosen, stale, ref } = props;
  const holder = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { view, state, retry } = useMaskView(holder, canvas, {
    palette: look.palette,
    onForgotten: props.onForgotten,
    onChoose: props.onChoose,
  });
  const { shown, cursor, zoom, range } = state;
  const stateId = useId();
  const { blockM, blockN } = blocks;

  // With the rules' colours the picture waits for them, so that it does not change its colours twice.
  const key = layer === "rules" && rules && rules.hash === mask?.hash ? rules.key : null;
  const drawable = mask !== null && (layer !== "rules" || key !== null || rulesFault !== null);
  useEffect(() => {
    if (mask && drawable) view.current?.setMask(mask, key, tiles);
  }, [mask, tiles, drawable, key, view]);
  useEffect(() => view.current?.setLayer(layer, { blockM, blockN }), [layer, blockM, blockN, view]);
  useEffect(() => view.current?.setPatterns(look.patterns), [look.patterns, view]);
  const lit = litRule && rules?.hash === shown?.hash ? litRule.hash : null;
  useEffect(() => view.current?.setLit(lit), [lit, view]);
  useEffect(() => view.current?.setOutline(outline?.outline ?? null, outline?.go ?? false), [outline, view]);
  const inside = chosen && shown && isInside(chosen, shown) ? chosen : null;
  useEffect(() => view.current?.setChosen(inside), [inside, view]);

  const regions = useRegions(shown, shown?.hash === mask?.hash ? maskOf : null, range);
  useEffect(() => view.current?.setRegions(regions), [regions, view]);
  const row = useRow(shown?.hash ?? null, cursor?.q ?? null);
  useEffect(() => view.current?.setRow(row), [row, view]);
  const explanation = useExplanation(shown && shown.hash === mask?.hash ? maskOf : null, cursor);
  const explained = useRef(props.onExplained);
  explained.current = props.onExplained;
  useEffect(() => explained.current(explanation), [explanation]);
  const [startedAt, setStartedAt] = useState(false);
  // A link to a cell is followed once, when what the link opened is there to be shown.
  const arrived = shown !== null && props.fresh && shown.hash === mask?.hash;
  useEffect(() => {
    if (!arrived || startedAt) return;
    setStartedAt(true);
    if (inside) view.current?.visit(inside);
  }, [arrived, startedAt, inside, view]);

  useImperativeHandle(ref, () => ({
    point: (place) => {
      holder.current?.focus({ preventScroll: true });
      holder.current?.scrollIntoView({ block: "nearest" });
      view.current?.point(place);
    },
    wantedTiles: () => view.current?.wantedTiles() ?? [],
  }));
  const fault = state.fault ?? (layer === "rules" ? rulesFault : null);

  return (
    <section className="mask-pane" aria-label="Mask">
      <MaskToolbar
        layer={layer}
        onLayer={props.onLayer}
        blocks={blocks}
        automatic={props.automaticBlocks}
        onBlocks={props.onBlocks}
        batch={props.batch}
        onPlace={props.onPlace}
        look={look}
        zoom={zoom}
        onZoom={(factor) => view.current?.zoom(factor)}
        onFit={() => view.current?.fit()}
      />
      <div className="mask-stage">
        <div
          ref={holder}
          className={stale ? "mask-canvas stale" : "mask-canvas"}
          role="application"
          aria-label="Mask picture. Arrow keys move the cell cursor, Enter chooses the cell, plus and minus zoom, zero fits."
          aria-describedby={stateId}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard works on it
          tabIndex={0}
          data-hash={shown?.hash}
          aria-busy={!props.fresh || (mask !== null && shown?.hash !== mask.hash)}
          data-lit={lit ?? undefined}
          onKeyDown={(event) => event.key === "Escape" && props.onChoose(null)}
        >
          <canvas ref={canvas} />
        </div>
        <p id={stateId} className="visually-hidden">
          {stateText(shown, regions, layer, blocks, range, inside)}
        </p>
        {shown && look.minimap && !zoom.whole && <Minimap mask={shown} view={view} />}
        {!shown && !stale && <div className="mask-waiting skeleton" />}
        {!shown && stale && (
          <div className="mask-waiting">
            <EmptyState icon="grid" title="No picture yet">
              <InlineText text={stale} />
            </EmptyState>
          </div>
        )}
        {shown && stale && (
          <p className="mask-banner">
            <Icon name="error" />
            <span>
              <InlineText text={stale} />
            </span>
          </p>
        )}
        {fault && (
          <div className="mask-banner fault" role="alert">
            <span>{fault}</span>
            <Button small onClick={retry}>
              Try again
            </Button>
          </div>
        )}
      </div>
      <MaskReadout
        mask={shown}
        regions={regions}
        cursor={cursor}
        row={row}
        waiting={!stale}
        explanation={explanation}
        spoken={state.spoken}
      />
      <MaskLegend
        layer={layer}
        look={look}
        rules={rules}
        tiling={props.tiling}
        onRule={props.onRule}
        onHoverRule={props.onHoverRule}
      />
    </section>
  );
}

function isInside({ q, k }: Cell, mask: Mask): boolean {
  return q < mask.statistics.q_len && k < mask.statistics.kv_len;
}
