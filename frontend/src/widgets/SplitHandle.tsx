import { type KeyboardEvent, type PointerEvent, useRef } from "react";

interface SplitHandleProps {
  label: string;
  /** Width in pixels of the pane that the handle sizes. */
  value: number;
  min: number;
  max: number;
  /** Which side of the handle that pane is on. */
  side: "before" | "after";
  onChange: (width: number) => void;
}

/** A border between two panes that can be dragged, or moved with the arrow keys. */
export function SplitHandle({ label, value, min, max, side, onChange }: SplitHandleProps) {
  const drag = useRef<{ x: number; width: number } | null>(null);
  const sign = side === "before" ? 1 : -1;
  const set = (width: number) => onChange(Math.round(Math.max(min, Math.min(max, width))));
  const onPointerMove = (event: PointerEvent) => {
    if (drag.current) set(drag.current.width + sign * (event.clientX - drag.current.x));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 16 : event.key === "ArrowLeft" ? -16 : 0;
    if (step === 0) return;
    event.preventDefault();
    set(value + sign * step);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that can be moved has no element of its own
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={min}
      aria-valuemax={max}
      tabIndex={0}
      className="split-handle"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.current = { x: event.clientX, width: value };
      }}
      onPointerMove={onPointerMove}
      onPointerUp={() => {
        drag.current = null;
      }}
      onKeyDown={onKeyDown}
    />
  );
}
