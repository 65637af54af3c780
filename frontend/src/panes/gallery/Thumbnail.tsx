import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { readWholeTile } from "../../api/wholeTile";
import type { Draft } from "../../domain/drafts";
import { densityLut, PALETTES, type ThemeName } from "../../domain/palette";
import { TILE_SIDE, wholeLevel } from "../../domain/viewport";

const SIDE = 96;

/** A mask, and the text that brings it back when the server forgot it. */
export interface SmallMask {
  hash: string;
  q_len: number;
  kv_len: number;
  text: Draft | null;
}

/** The whole mask in a small square, from the density tile that holds all of it; read when it comes into view. */
export function Thumbnail({ of: mask, theme }: { of: SmallMask; theme: ThemeName }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!canvas.current) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
    });
    observer.observe(canvas.current);
    return () => observer.disconnect();
  }, []);
  const level = wholeLevel({ qLen: mask.q_len, kvLen: mask.kv_len });
  const tile = useQuery({
    queryKey: ["tile", mask.hash, level],
    queryFn: ({ signal }) => readWholeTile(mask.hash, level, mask.text, signal),
    staleTime: Infinity,
    enabled: seen,
  });
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !tile.data) return;
    draw(context, tile.data, mask.q_len / 2 ** level, mask.kv_len / 2 ** level, theme);
  }, [tile.data, mask.q_len, mask.kv_len, level, theme]);
  return (
    <span aria-hidden="true">
      <canvas ref={canvas} width={SIDE * 2} height={SIDE * 2} className="thumbnail" />
    </span>
  );
}

function draw(
  context: CanvasRenderingContext2D,
  bytes: Uint8Array,
  rows: number,
  columns: number,
  theme: ThemeName,
): void {
  const lut = densityLut(PALETTES[theme]);
  const height = Math.max(1, Math.ceil(rows));
  const width = Math.max(1, Math.ceil(columns));
  const small = document.createElement("canvas");
  small.width = width;
  small.height = height;
  const smallContext = small.getContext("2d");
  if (!smallContext) return;
  const image = smallContext.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) pixels[y * width + x] = lut[bytes[y * TILE_SIDE + x] ?? 0] ?? 0;
  }
  smallContext.putImageData(image, 0, 0);
  context.clearRect(0, 0, SIDE * 2, SIDE * 2);
  // Enlarged as squares, made smaller with averages.
  context.imageSmoothingEnabled = Math.max(width, height) > SIDE * 2;
  context.drawImage(small, 0, 0, columns, rows, 0, 0, SIDE * 2, SIDE * 2);
}
