import {
  type KeyboardEvent,
  type PointerEvent,
  type Ref,
  useEffect,
  useImperativeHandle,
  useRef,
  useState,
} from "react";
import { readDiffTile } from "../../api/calls";
import type { CellDifference } from "../../api/types";
import { DIFF_PALETTES } from "../../domain/diffPixels";
import { formatInt } from "../../domain/format";
import { PALETTES, type ThemeName } from "../../domain/palette";
import { Button } from "../../widgets/Button";
import { type Cell, DiffView } from "./diffView";
import { useCellText } from "./useCellText";

export interface DiffCanvasHandle {
  show: (cell: Cell) => void;
}

interface DiffCanvasProps {
  cells: CellDifference;
  theme: ThemeName;
  /** The server forgot one of the masks. */
  onForgotten: () => void;
  ref?: Ref<DiffCanvasHandle>;
}

const KEYS: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Cells added and removed, in colour, over the cells that both masks show, in grey. */
export function DiffCanvas({ cells, theme, onForgotten, ref }: DiffCanvasProps) {
  const holder = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<DiffView | null>(null);
  const drag = useRef<{ x: number; y: number } | null>(null);
  const [cursor, setCursor] = useState<Cell | null>(null);
  const [whole, setWhole] = useState(true);
  const [fault, setFault] = useState<string | null>(null);
  const first = useRef({ palette: DIFF_PALETTES[theme], ink: PALETTES[theme].cursor });
  const forgotten = useRef(onForgotten);
  forgotten.current = onForgotten;
  const text = useCellText(cells, cursor);

  useEffect(() => {
    const element = holder.current;
    if (!element || !canvas.current) return;
    const created = new DiffView(canvas.current, first.current.palette, first.current.ink, {
      cursor: setCursor,
      whole: setWhole,
      fault: (error) => {
        setFault(error instanceof Error ? error.message : "Some tiles could not be read.");
        forgotten.current();
      },
    });
    view.current = created;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) created.resize(entry.contentRect.width, entry.contentRect.height, window.devicePixelRatio);
    });
    observer.observe(element);
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      if (event.shiftKey) created.pan(-event.deltaY, 0);
      else created.zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      element.removeEventListener("wheel", onWheel);
      observer.disconnect();
      created.dispose();
      view.current = null;
    };
  }, []);

  useEffect(() => view.current?.setPalette(DIFF_PALETTES[theme], PALETTES[theme].cursor), [theme]);
  useEffect(() => {
    const pair = { left: cells.left_hash, right: cells.right_hash };
    setFault(null);
    view.current?.setScene({
      key: `${pair.left}/${pair.right}`,
      extent: { qLen: cells.q_len, kvLen: cells.kv_len },
      levels: cells.levels,
      read: ({ z, y, x }, signal) => readDiffTile(pair, z, y, x, signal),
    });
  }, [cells]);
  useImperativeHandle(ref, () => ({
    show: (cell) => {
      holder.current?.focus({ preventScroll: true });
      holder.current?.scrollIntoView({ block: "nearest" });
      view.current?.show(cell);
    },
  }));

  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    if (drag.current) {
      view.current?.pan(event.clientX - drag.current.x, event.clientY - drag.current.y);
      drag.current = { x: event.clientX, y: event.clientY };
    } else view.current?.pointAt(event.clientX - box.left, event.clientY - box.top);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = KEYS[event.key];
    if (step) {
      const times = event.shiftKey ? 8 : 1;
      view.current?.move(step[0] * times, step[1] * times);
    } else if (event.key === "+" || event.key === "=") view.current?.zoom(2);
    else if (event.key === "-") view.current?.zoom(0.5);
    else if (event.key === "0") view.current?.fit();
    else return;
    event.preventDefault();
  };

  return (
    <section className="diff-picture" aria-label="Cells">
      <div className="diff-toolbar">
        <Legend />
        <Button
          small
          look="quiet"
          icon="minus"
          aria-label="Zoom out"
          disabled={whole}
          onClick={() => view.current?.zoom(0.5)}
        />
        <Button small look="quiet" icon="plus" aria-label="Zoom in" onClick={() => view.current?.zoom(2)} />
        <Button small look="quiet" icon="fit" aria-label="Show all cells" onClick={() => view.current?.fit()} />
      </div>
      <div
        ref={holder}
        className="diff-canvas"
        role="application"
        aria-label={`Cells of both masks, ${formatInt(cells.q_len)} queries by ${formatInt(cells.kv_len)} keys. Arrow keys move the cell cursor, plus and minus zoom, zero shows all.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard works on it
        tabIndex={0}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.current = { x: event.clientX, y: event.clientY };
        }}
        onPointerMove={onPointerMove}
        onPointerUp={() => {
          drag.current = null;
        }}
        onPointerLeave={() => view.current?.clearCursor()}
        onKeyDown={onKeyDown}
      >
        <canvas ref={canvas} />
      </div>
      <p className="diff-readout" aria-live="polite">
        {fault ?? text ?? "Point at a cell, or move the cursor with the arrow keys."}
      </p>
    </section>
  );
}

function Legend() {
  return (
    <ul className="diff-legend">
      <li data-kind="added">added</li>
      <li data-kind="removed">removed</li>
      <li data-kind="both">both in one pixel</li>
      <li data-kind="common">in both masks</li>
    </ul>
  );
}
