import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { BlockSize, CellExplanation, RuleParts } from "../../api/types";
import type { Outline } from "../../domain/outline";
import type { ThemeName } from "../../domain/palette";
import type { CodeEditorHandle } from "../../panes/editor/CodeEditor";
import { InspectorPane, type InspectorTab } from "../../panes/inspector/InspectorPane";
import { MaskPane, type MaskPaneHandle } from "../../panes/mask/MaskPane";
import { useMaskLook } from "../../panes/mask/useMaskLook";
import { SplitHandle } from "../../widgets/SplitHandle";
import { useMaskQuery } from "../useMaskQuery";
import { useQTileOutline } from "../useQTileOutline";
import { useRuleParts } from "../useRuleParts";
import type { Workspace, WorkspaceState } from "../workspace";

interface MaskSideProps {
  workspace: Workspace;
  state: WorkspaceState;
  theme: ThemeName;
  editor: RefObject<CodeEditorHandle | null>;
  /** The place in the text that somebody points at. */
  pointedAt: number | null;
  tab: InspectorTab;
  onTab: (tab: InspectorTab) => void;
  width: number;
  onWidth: (width: number) => void;
}

type RulePart = RuleParts["parts"][number];

/** The picture of the mask and what is known about it, each following what is chosen in the other. */
export function MaskSide({ workspace, state, theme, editor, pointedAt, tab, onTab, width, onWidth }: MaskSideProps) {
  const { mask, tiles: bundled, maskOf, result } = state;
  const picture = useRef<MaskPaneHandle>(null);
  const look = useMaskLook(theme);
  const [query, change] = useMaskQuery(state.draftId, state.byAddress);
  const [outline, setOutline] = useState<{ outline: Outline; go: boolean } | null>(null);
  const [hoveredRule, setHoveredRule] = useState<RulePart | null>(null);
  const undrawn = result !== null && result.mask === null;
  const current = maskOf !== null && state.source === maskOf.source;
  const { rules, fault, again } = useRuleParts(maskOf, query.layer === "rules", pointedAt !== null && current);
  const pointedRule = current ? ruleAt(rules, pointedAt) : null;
  const blocks = {
    blockM: state.blockM ?? ((mask?.statistics.tiles.block_m ?? 128) as BlockSize),
    blockN: state.blockN ?? ((mask?.statistics.tiles.block_n ?? 128) as BlockSize),
  };
  const tiles = useQTileOutline(mask?.hash ?? null, blocks, query.cell?.q ?? null, query.layer === "tiles");
  const place = useMemo(() => ({ item: query.item, head: query.head }), [query.item, query.head]);

  // The address is read before anything is compiled; from then on the two change together.
  useEffect(() => workspace.setPlace(place.item, place.head), [workspace, place]);
  useEffect(() => workspace.setBlocks(query.blockM, query.blockN), [workspace, query.blockM, query.blockN]);
  useEffect(() => {
    workspace.setWantedTiles(() => picture.current?.wantedTiles() ?? []);
    return () => workspace.setWantedTiles(null);
  }, [workspace]);
  // A program that was opened begins with the first mask of its batch, and a batch may shrink.
  const shownItem = result?.batch?.item ?? state.item;
  const shownHead = result?.batch?.head ?? state.head;
  useEffect(() => {
    if (state.fresh) change({ item: shownItem, head: shownHead });
  }, [state.fresh, shownItem, shownHead, change]);

  const light = (explanation: CellExplanation | null) => {
    const now = workspace.getState();
    const shown = explanation?.visible && now.source === now.maskOf?.source ? explanation.rules : [];
    editor.current?.light(shown.map((rule) => rule.span));
  };
  const outlineFrom = useCallback((next: Outline | null, go: boolean) => {
    setOutline(next && { outline: next, go });
  }, []);

  return (
    <>
      <MaskPane
        ref={picture}
        mask={mask}
        tiles={bundled}
        fresh={state.fresh}
        maskOf={maskOf}
        look={look}
        layer={query.layer}
        onLayer={(layer) => change({ layer })}
        blocks={blocks}
        automaticBlocks={query.blockM === null && query.blockN === null}
        onBlocks={(chosen) => change(chosen ?? { blockM: null, blockN: null })}
        batch={result?.batch ?? null}
        onPlace={(item, head) => change({ item, head })}
        rules={rules}
        rulesFault={fault}
        litRule={hoveredRule ?? pointedRule}
        onRule={(rule) => editor.current?.goTo(rule.span.start, rule.span.stop)}
        onHoverRule={setHoveredRule}
        outline={outline ?? tiles.outline}
        tiling={tiles.tiling}
        chosen={query.cell}
        onChoose={(cell) => change({ cell })}
        stale={undrawn ? staleText(state) : null}
        onForgotten={() => void again().finally(() => workspace.compileNow())}
        onExplained={light}
      />
      <SplitHandle label="Width of the numbers" side="after" value={width} min={240} max={640} onChange={onWidth} />
      <InspectorPane
        tab={tab}
        onTab={onTab}
        mask={mask}
        stale={undrawn}
        palette={look.palette}
        result={result}
        blocks={blocks}
        layer={query.layer}
        chosen={query.cell}
        onChoose={(cell) => change({ cell })}
        onOutline={outlineFrom}
        onTry={({ blockM, blockN, layer }) =>
          change({ ...(blockM && { blockM }), ...(blockN && { blockN }), ...(layer && { layer }) })
        }
        onForgotten={() => workspace.compileNow()}
        onGoTo={(span) => editor.current?.goTo(span.start, span.stop)}
        onPoint={(where) => picture.current?.point(where)}
        onFix={(fix) => editor.current?.applyFix(fix)}
      />
    </>
  );
}

/** The rule whose text is on the line that is pointed at. */
function ruleAt(rules: RuleParts | null, offset: number | null): RulePart | null {
  if (offset === null) return null;
  return rules?.parts.find(({ span }) => span.start <= offset && offset <= span.stop) ?? null;
}

function staleText({ result, mask }: WorkspaceState): string {
  const first = result?.diagnostics.find((diagnostic) => diagnostic.severity === "error");
  const why = first ? `Line ${first.line}: ${first.message}` : "This program gives no mask";
  return mask ? `${why}. The picture is the last one that compiled.` : why;
}
