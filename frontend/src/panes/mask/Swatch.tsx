import { useEffect, useRef } from "react";
import type { Pattern } from "../../domain/cellPatterns";
import { inkOn, ruleColour } from "../../domain/palette";
import { paintPattern } from "./stencil";
import type { MaskLook } from "./useMaskLook";

export type SwatchKind = "hidden" | "ramp" | "partial" | "full" | "rule";

interface SwatchProps {
  kind: SwatchKind;
  look: MaskLook;
  /** Its number, for the colour of a rule. */
  rule?: number;
  pattern?: Pattern | null | undefined;
}

const SIDE = 12;
const WIDE = 28;

/** A small piece of the picture: its colour and, where those are on, its pattern. */
export function Swatch({ kind, look, rule = 0, pattern = null }: SwatchProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { palette } = look;
  const width = kind === "ramp" ? WIDE : SIDE;
  const ground =
    kind === "rule"
      ? ruleColour(palette, rule)
      : { hidden: palette.hidden, ramp: palette.partialLow, partial: palette.partialTile, full: palette.full }[kind];
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    context.setTransform(2, 0, 0, 2, 0, 0);
    context.clearRect(0, 0, width, SIDE);
    if (kind === "ramp") {
      const ramp = context.createLinearGradient(0, 0, width, 0);
      ramp.addColorStop(0, palette.partialLow);
      ramp.addColorStop(1, palette.partialHigh);
      context.fillStyle = ramp;
    } else context.fillStyle = ground;
    context.fillRect(0, 0, width, SIDE);
    const drawn = pattern ?? (kind === "partial" ? "rising" : null);
    if (drawn) {
      for (let x = 0; x < width; x += 8) {
        for (let y = 0; y < SIDE; y += 8) {
          context.save();
          context.translate(x, y);
          paintPattern(context, drawn, pattern ? inkOn(ground) : palette.hatch);
          context.restore();
        }
      }
    }
  }, [kind, palette, ground, pattern, width]);
  return <canvas ref={canvas} className="mask-swatch" width={width * 2} height={SIDE * 2} style={{ width }} />;
}
