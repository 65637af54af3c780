/** Mouse, wheel, touch and keyboard on the canvas. */

import type { Cell, MaskView } from "./maskView";

const WHEEL_SPEED = 0.0022;
const KEY_ZOOM = 1.5;
/** A press that moves no farther than this many pixels is a click. */
const CLICK_SLACK = 4;

export interface GestureEvents {
  onKeyboardMove: () => void;
  /** A cell was clicked, or chosen with Enter. */
  onChoose: (cell: Cell) => void;
}

/** Listens on the element that holds the canvas; returns how to stop. */
export function attachGestures(element: HTMLElement, view: MaskView, events: GestureEvents): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  element.addEventListener("wheel", (event) => onWheel(event, element, view), { passive: false, signal });
  attachPointers(element, view, signal);
  attachClicks(element, view, signal, events.onChoose);
  element.addEventListener(
    "dblclick",
    (event) => {
      const { x, y } = within(element, event);
      view.zoom(2, x, y);
    },
    { signal },
  );
  element.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target !== element) return;
      if (event.key === "Enter" && view.cursor) events.onChoose(view.cursor);
      const handled = onKey(event.key, event.shiftKey, view);
      if (handled) event.preventDefault();
      if (handled === "moved") events.onKeyboardMove();
    },
    { signal },
  );
  return () => stop.abort();
}

function within(element: HTMLElement, event: MouseEvent): { x: number; y: number } {
  const box = element.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function onWheel(event: WheelEvent, element: HTMLElement, view: MaskView): void {
  event.preventDefault();
  const { x, y } = within(element, event);
  if (event.shiftKey) {
    view.pan(-(event.deltaX || event.deltaY), 0);
    return;
  }
  const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * 16 : event.deltaY;
  // A pinch on a touch pad arrives as a wheel with Control, in much smaller steps.
  view.zoom(Math.exp(-pixels * WHEEL_SPEED * (event.ctrlKey ? 5 : 1)), x, y);
  view.pointAt(x, y);
}

function attachPointers(element: HTMLElement, view: MaskView, signal: AbortSignal): void {
  const down = new Map<number, { x: number; y: number }>();
  element.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      down.set(event.pointerId, within(element, event));
      element.classList.toggle("dragging", down.size === 1 && event.pointerType === "mouse");
      view.pointAt(...pair(within(element, event)));
    },
    { signal },
  );
  element.addEventListener(
    "pointermove",
    (event) => {
      const to = within(element, event);
      const from = down.get(event.pointerId);
      if (!from) {
        view.pointAt(to.x, to.y);
        return;
      }
      const others = [...down].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      const other = others[0];
      if (other) {
        const factor = distance(to, other) / Math.max(1, distance(from, other));
        view.zoom(factor, (to.x + other.x) / 2, (to.y + other.y) / 2);
        view.pan((to.x - from.x) / 2, (to.y - from.y) / 2);
      } else {
        view.pan(to.x - from.x, to.y - from.y);
      }
      down.set(event.pointerId, to);
    },
    { signal },
  );
  const up = (event: PointerEvent) => {
    down.delete(event.pointerId);
    element.classList.remove("dragging");
  };
  element.addEventListener("pointerup", up, { signal });
  element.addEventListener("pointercancel", up, { signal });
  element.addEventListener(
    "pointerleave",
    (event) => {
      if (event.pointerType === "mouse" && down.size === 0) view.clearCursor();
    },
    { signal },
  );
}

function attachClicks(element: HTMLElement, view: MaskView, signal: AbortSignal, onChoose: (cell: Cell) => void): void {
  let pressed: { x: number; y: number } | null = null;
  element.addEventListener(
    "pointerdown",
    (event) => {
      pressed = event.button === 0 && event.isPrimary ? within(element, event) : null;
    },
    { signal },
  );
  element.addEventListener(
    "pointerup",
    (event) => {
      const at = within(element, event);
      if (!pressed || !event.isPrimary || distance(at, pressed) > CLICK_SLACK) return;
      const cell = view.cellAt(at.x, at.y);
      if (cell) onChoose(cell);
    },
    { signal },
  );
}

function pair({ x, y }: { x: number; y: number }): [number, number] {
  return [x, y];
}

function distance(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** Arrows go one cell, with Shift about eight pixels; Home and End to the ends of the row. */
function onKey(key: string, shift: boolean, view: MaskView): "moved" | "zoomed" | null {
  const { q, k } = shift ? view.stride : { q: 1, k: 1 };
  switch (key) {
    case "ArrowLeft":
      view.moveCursor((cell) => ({ q: cell.q, k: cell.k - k }));
      return "moved";
    case "ArrowRight":
      view.moveCursor((cell) => ({ q: cell.q, k: cell.k + k }));
      return "moved";
    case "ArrowUp":
      view.moveCursor((cell) => ({ q: cell.q - q, k: cell.k }));
      return "moved";
    case "ArrowDown":
      view.moveCursor((cell) => ({ q: cell.q + q, k: cell.k }));
      return "moved";
    case "Home":
      view.moveCursor((cell) => ({ q: cell.q, k: 0 }));
      return "moved";
    case "End":
      view.moveCursor((cell, extent) => ({ q: cell.q, k: extent.kvLen - 1 }));
      return "moved";
    case "PageUp":
      view.moveCursor((cell) => ({ q: cell.q - 8 * view.stride.q, k: cell.k }));
      return "moved";
    case "PageDown":
      view.moveCursor((cell) => ({ q: cell.q + 8 * view.stride.q, k: cell.k }));
      return "moved";
    case "+":
    case "=":
      view.zoom(KEY_ZOOM);
      return "zoomed";
    case "-":
      view.zoom(1 / KEY_ZOOM);
      return "zoomed";
    case "0":
      view.fit();
      return "zoomed";
    case "Escape":
      view.clearMark();
      return "zoomed";
    default:
      return null;
  }
}
