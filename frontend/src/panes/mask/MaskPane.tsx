import { type Ref, useCallback, useEffect, useImperativeHandle, useRef, useState } from "react";
import { readTile } from "../../api/calls";
import { ApiError } from "../../api/client";
import type { BlockSize, CellExplanation, CounterExample, Mask } from "../../api/types";
import type { Draft } from "../../domain/drafts";
import { PALETTES, type ThemeName } from "../../domain/palette";
import { Button } from "../../widgets/Button";
import { InlineText } from "../../widgets/DocText";
import { Segmented } from "../../widgets/Segmented";
import { attachGestures } from "./gestures";
import { MaskLegend } from "./MaskLegend";
import { MaskReadout } from "./MaskReadout";
import { type Cell, MaskView } from "./maskView";
import type { Layer } from "./tileImages";
import { useExplanation } from "./useExplanation";
import { useRow } from "./useRow";

const BLOCKS: readonly BlockSize[] = [16, 32, 64, 128, 256];
const LAYERS = [
  { id: "density", label: "Density" },
  { id: "kernel", label: "Kernel tiles" },
] as const;

export interface MaskPaneHandle {
  /** Show and mark a cell, a row or a column. */
  point: (place: CounterExample) => void;
}

interface MaskPaneProps {
  mask: Mask | null;
  /** The text and the numbers that gave the mask. */
  maskOf: Draft | null;
  theme: ThemeName;
  blockM: BlockSize;
  blockN: BlockSize;
  onBlocks: (blockM: BlockSize, blockN: BlockSize) => void;
  /** The text has errors, so this is the last picture that could be drawn; the banner says why. */
  stale: string | null;
  /** The server forgot this mask: compile again. */
  onForgotten: () => void;
  /** What is known about the cell that the cursor rests on; null when nothing is. */
  onExplained: (explanation: CellExplanation | null) => void;
  ref?: Ref<MaskPaneHandle>;
}

export function MaskPane({
  mask,
  maskOf,
  theme,
  blockM,
  blockN,
  onBlocks,
  stale,
  onForgotten,
  onExplained,
  ref,
}: MaskPaneProps) {
  const holder = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<MaskView | null>(null);
  const [layer, setLayer] = useState<Layer>("density");
  const [shown, setShown] = useState<Mask | null>(null);
  const [cursor, setCursor] = useState<Cell | null>(null);
  const [zoom, setZoom] = useState({ scale: 1, whole: true });
  const [spoken, setSpoken] = useState(0);
  const [tileFault, setTileFault] = useState<string | null>(null);
  const forgotten = useRef(onForgotten);
  forgotten.current = onForgotten;
  const askedAgain = useRef<string | null>(null);
  const firstPalette = useRef(PALETTES[theme]);

  useEffect(() => {
    const element = holder.current;
    if (!element || !canvas.current) return;
    const created = new MaskView(canvas.current, firstPalette.current, readTile, {
      cursor: setCursor,
      zoom: (scale, whole) => setZoom({ scale, whole }),
      shown: (now) => {
        setShown(now);
        setTileFault(null);
      },
      tileError: (hash, error) => {
        const unknown = error instanceof ApiError && error.status === 404;
        // Compiling again helps once; if the server still does not know the mask, the user is told.
        if (unknown && askedAgain.current !== hash) {
          askedAgain.current = hash;
          forgotten.current();
        } else setTileFault(error instanceof Error ? error.message : "Some tiles could not be read.");
      },
    });
    view.current = created;
    const detach = attachGestures(element, created, () => setSpoken((count) => count + 1));
    const observer = new ResizeObserver(([entry]) => {
      if (entry) created.resize(entry.contentRect.width, entry.contentRect.height, window.devicePixelRatio);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      detach();
      created.dispose();
      view.current = null;
    };
  }, []);

  useEffect(() => view.current?.setPalette(PALETTES[theme]), [theme]);
  useEffect(() => {
    if (mask) view.current?.setMask(mask);
  }, [mask]);
  useEffect(() => view.current?.setKernel(layer === "kernel" ? { blockM, blockN } : null), [layer, blockM, blockN]);

  const row = useRow(shown?.hash ?? null, cursor?.q ?? null);
  useEffect(() => view.current?.setRow(row), [row]);
  const explanation = useExplanation(shown && shown.hash === mask?.hash ? maskOf : null, cursor);
  const explained = useRef(onExplained);
  explained.current = onExplained;
  useEffect(() => explained.current(explanation), [explanation]);

  useImperativeHandle(ref, () => ({
    point: (place) => {
      holder.current?.focus({ preventScroll: true });
      holder.current?.scrollIntoView({ block: "nearest" });
      view.current?.point(place);
    },
  }));

  const retry = useCallback(() => {
    setTileFault(null);
    view.current?.retry();
  }, []);

  return (
    <section className="mask-pane" aria-label="Mask">
      <div className="mask-toolbar">
        <Segmented label="Layer" options={LAYERS} value={layer} onChange={setLayer} />
        <BlockPicker blockM={blockM} blockN={blockN} onBlocks={onBlocks} />
        <span className="grow" />
        <div className="zoom-controls">
          <Button
            small
            look="quiet"
            icon="minus"
            aria-label="Zoom out"
            onClick={() => view.current?.zoom(0.5)}
            disabled={zoom.whole}
          />
          <output className="zoom-text" title="Pixels per cell">
            {zoomText(zoom.scale)}
          </output>
          <Button small look="quiet" icon="plus" aria-label="Zoom in" onClick={() => view.current?.zoom(2)} />
          <Button small look="quiet" icon="fit" aria-label="Fit the whole mask" onClick={() => view.current?.fit()} />
        </div>
      </div>
      <div className="mask-stage">
        <div
          ref={holder}
          className={stale ? "mask-canvas stale" : "mask-canvas"}
          role="application"
          aria-label="Mask picture. Arrow keys move the cell cursor, plus and minus zoom, zero fits."
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard works on it
          tabIndex={0}
          data-hash={shown?.hash}
        >
          <canvas ref={canvas} />
        </div>
        {!shown && <div className="mask-waiting skeleton" />}
        {stale && (
          <p className="mask-banner">
            <span>
              <InlineText text={stale} />
            </span>
          </p>
        )}
        {tileFault && (
          <div className="mask-banner fault" role="alert">
            <span>{tileFault}</span>
            <Button small onClick={retry}>
              Try again
            </Button>
          </div>
        )}
      </div>
      <MaskReadout mask={shown} cursor={cursor} row={row} explanation={explanation} spoken={spoken} />
      <MaskLegend layer={layer} />
    </section>
  );
}

function zoomText(scale: number): string {
  if (scale >= 1) return `${scale < 10 ? scale.toFixed(1) : Math.round(scale)} px / cell`;
  const cells = 1 / scale;
  return `${cells < 10 ? cells.toFixed(1) : Math.round(cells)} cells / px`;
}

function BlockPicker({ blockM, blockN, onBlocks }: Pick<MaskPaneProps, "blockM" | "blockN" | "onBlocks">) {
  const options = BLOCKS.map((size) => (
    <option key={size} value={size}>
      {size}
    </option>
  ));
  return (
    <fieldset className="block-picker">
      <legend className="visually-hidden">Kernel tile size</legend>
      <span aria-hidden="true">Tile</span>
      <select
        aria-label="BLOCK_M, rows of a kernel tile"
        value={blockM}
        onChange={(event) => onBlocks(Number(event.target.value) as BlockSize, blockN)}
      >
        {options}
      </select>
      <span aria-hidden="true">×</span>
      <select
        aria-label="BLOCK_N, keys of a kernel tile"
        value={blockN}
        onChange={(event) => onBlocks(blockM, Number(event.target.value) as BlockSize)}
      >
        {options}
      </select>
    </fieldset>
  );
}
