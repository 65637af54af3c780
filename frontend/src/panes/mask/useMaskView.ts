import { type RefObject, useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { readTile } from "../../api/calls";
import { ApiError } from "../../api/client";
import { readQTilesOfRows, readRulesTile } from "../../api/maskCalls";
import type { BlockSize, Mask } from "../../api/types";
import type { MaskPalette } from "../../domain/palette";
import { attachGestures } from "./gestures";
import { type Cell, type MaskReads, MaskView, type ShownRange } from "./maskView";
import { ROWS_AT_ONCE, readRowTilesName } from "./rowTiles";
import { RULES_PREFIX } from "./scene";

interface Options {
  palette: MaskPalette;
  /** The server forgot a mask or its rules. */
  onForgotten: () => void;
  onChoose: (cell: Cell) => void;
}

/** What the canvas shows at the moment, for the parts of the pane around it. */
export interface MaskViewState {
  shown: Mask | null;
  cursor: Cell | null;
  zoom: { scale: number; whole: boolean };
  range: ShownRange | null;
  /** Counts moves by keyboard: those are spoken, the pointer's are not. */
  spoken: number;
  fault: string | null;
}

const AT_FIRST: MaskViewState = {
  shown: null,
  cursor: null,
  zoom: { scale: 1, whole: true },
  range: null,
  spoken: 0,
  fault: null,
};

const READS: MaskReads = {
  tile: (source, z, y, x, signal) =>
    source.startsWith(RULES_PREFIX)
      ? readRulesTile(source.slice(RULES_PREFIX.length), z, y, x, signal)
      : readTile(source, z, y, x, signal),
  rowTiles: (source, z, y, _, signal) => {
    const { hash, blockM, blockN } = readRowTilesName(source);
    const blocks = { blockM: blockM as BlockSize, blockN: blockN as BlockSize };
    return readQTilesOfRows(hash, blocks, y * ROWS_AT_ONCE * 2 ** z, 2 ** z, signal);
  },
};

/** A picture of a mask on the canvas inside `holder`, with its gestures, as long as the pane lives. */
export function useMaskView(
  holder: RefObject<HTMLDivElement | null>,
  canvas: RefObject<HTMLCanvasElement | null>,
  options: Options,
): { view: RefObject<MaskView | null>; state: MaskViewState; retry: () => void } {
  const view = useRef<MaskView | null>(null);
  const [state, setState] = useState(AT_FIRST);
  const latest = useRef(options);
  latest.current = options;
  const askedAgain = useRef<string | null>(null);

  useEffect(() => {
    const element = holder.current;
    if (!element || !canvas.current) return;
    const change = (part: Partial<MaskViewState>) => setState((now) => ({ ...now, ...part }));
    const created = new MaskView(canvas.current, latest.current.palette, READS, {
      cursor: (cursor) => change({ cursor }),
      zoom: (scale, whole) => change({ zoom: { scale, whole } }),
      rested: (range) => change({ range }),
      // In the frame that paints it: what is said about the picture must not come a frame later.
      shown: (shown) => flushSync(() => change({ shown, fault: null })),
      tileError: (source, error) => {
        const unknown = error instanceof ApiError && error.status === 404;
        // Asking again helps once; if the server still does not know it, the user is told.
        if (unknown && askedAgain.current !== source) {
          askedAgain.current = source;
          latest.current.onForgotten();
        } else change({ fault: error instanceof Error ? error.message : "Some tiles could not be read." });
      },
    });
    view.current = created;
    const detach = attachGestures(element, created, {
      onKeyboardMove: () => setState((now) => ({ ...now, spoken: now.spoken + 1 })),
      onChoose: (cell) => latest.current.onChoose(cell),
    });
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
  }, [holder, canvas]);

  useEffect(() => view.current?.setPalette(options.palette), [options.palette]);

  const retry = () => {
    setState((now) => ({ ...now, fault: null }));
    view.current?.retry();
  };
  return { view, state, retry };
}
