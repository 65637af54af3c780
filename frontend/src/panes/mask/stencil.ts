/** Fills shapes made of tiles with a colour or a pattern. */

import type { Pattern } from "../../domain/cellPatterns";
import type { Size } from "../../domain/viewport";

const PATTERN_SIDE = 8;

export class Stencil {
  readonly #canvas = document.createElement("canvas");
  readonly #patterns = new Map<string, CanvasPattern | null>();

  /** Fills what `draw` makes opaque; `draw` works in the same units as `target`, whose origin is that of the area. */
  fill(
    target: CanvasRenderingContext2D,
    area: Size,
    pixelRatio: number,
    fill: string | CanvasPattern,
    draw: (context: CanvasRenderingContext2D) => void,
  ): void {
    const width = Math.max(1, Math.round(area.width * pixelRatio));
    const height = Math.max(1, Math.round(area.height * pixelRatio));
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      this.#canvas.width = width;
      this.#canvas.height = height;
    }
    const context = this.#canvas.getContext("2d");
    if (!context) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalCompositeOperation = "source-over";
    context.clearRect(0, 0, width, height);
    context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
    context.imageSmoothingEnabled = false;
    draw(context);
    context.globalCompositeOperation = "source-in";
    context.fillStyle = fill;
    context.fillRect(0, 0, area.width, area.height);
    target.drawImage(this.#canvas, 0, 0, width / pixelRatio, height / pixelRatio);
  }

  pattern(pattern: Pattern, ink: string): CanvasPattern | null {
    const name = `${pattern} ${ink}`;
    const known = this.#patterns.get(name);
    if (known !== undefined) return known;
    const made = makePattern(pattern, ink);
    this.#patterns.set(name, made);
    return made;
  }
}

function makePattern(pattern: Pattern, ink: string): CanvasPattern | null {
  const canvas = document.createElement("canvas");
  canvas.width = PATTERN_SIDE;
  canvas.height = PATTERN_SIDE;
  const context = canvas.getContext("2d");
  if (!context) return null;
  paintPattern(context, pattern, ink);
  return context.createPattern(canvas, "repeat");
}

/** One square of 8 x 8 pixels that joins its neighbours on all sides; also drawn in the legend. */
export function paintPattern(context: CanvasRenderingContext2D, pattern: Pattern, ink: string): void {
  context.strokeStyle = ink;
  context.fillStyle = ink;
  context.lineWidth = 1;
  context.beginPath();
  const rising = () => line(context, [-2, 2, 2, -2], [-2, 10, 10, -2], [6, 10, 10, 6]);
  const falling = () => line(context, [-2, 6, 2, 10], [-2, -2, 10, 10], [6, -2, 10, 2]);
  switch (pattern) {
    case "dots":
      context.fillRect(1, 1, 2, 2);
      context.fillRect(5, 5, 2, 2);
      return;
    case "rising":
      rising();
      break;
    case "falling":
      falling();
      break;
    case "level":
      line(context, [0, 2.5, 8, 2.5], [0, 6.5, 8, 6.5]);
      break;
    case "upright":
      line(context, [2.5, 0, 2.5, 8], [6.5, 0, 6.5, 8]);
      break;
    case "crossed":
      rising();
      falling();
      break;
    case "checked":
      context.fillRect(0, 0, 4, 4);
      context.fillRect(4, 4, 4, 4);
      return;
    case "dashes":
      line(context, [0, 2.5, 4, 2.5], [4, 6.5, 8, 6.5]);
      break;
  }
  context.stroke();
}

function line(context: CanvasRenderingContext2D, ...lines: [number, number, number, number][]): void {
  for (const [fromX, fromY, toX, toY] of lines) {
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
  }
}
