import { type PointerEvent, type RefObject, useEffect, useRef } from "react";
import type { Mask } from "../../api/types";
import type { MaskView } from "./maskView";

const LONGEST = 124;
/** On a phone the picture itself needs the room. */
const LONGEST_ON_PHONES = 76;
const SHORTEST = 40;

interface MinimapProps {
  mask: Mask;
  view: RefObject<MaskView | null>;
}

/** The whole mask, small, with the part in view; a click or a drag goes there. By keyboard the arrow keys go everywhere. */
export function Minimap({ mask, view }: MinimapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { q_len: rows, kv_len: keys } = mask.statistics;
  const longest = window.innerWidth < 480 ? LONGEST_ON_PHONES : LONGEST;
  const size = {
    width: Math.max(SHORTEST, (longest * keys) / Math.max(rows, keys, 1)),
    height: Math.max(SHORTEST, (longest * rows) / Math.max(rows, keys, 1)),
  };
  const { width, height } = size;
  useEffect(() => {
    const shown = view.current;
    if (!canvas.current) return;
    shown?.setMinimap({ canvas: canvas.current, size: { width, height } });
    return () => shown?.setMinimap(null);
  }, [view, width, height]);
  const go = (event: PointerEvent<HTMLCanvasElement>) => {
    if (event.buttons === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    view.current?.goToMinimap(event.clientX - box.left, event.clientY - box.top);
  };
  return (
    <span aria-hidden="true" className="mask-minimap">
      <canvas
        ref={canvas}
        style={size}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          go(event);
        }}
        onPointerMove={go}
      />
    </span>
  );
}
