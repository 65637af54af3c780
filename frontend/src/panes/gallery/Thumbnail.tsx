import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { compileMask, readTile } from "../../api/calls";
import { ApiError } from "../../api/client";
import type { Values } from "../../api/types";
import { densityLut, PALETTES, type ThemeName } from "../../domain/palette";
import { TILE_SIDE } from "../../domain/viewport";

const SIDE = 96;

/** A mask, and the text that brings it back when the server forgot it. */
export interface SmallMask {
  hash: string;
  q_len: number;
  kv_len: number;
  text: { source: string; values: Values } | null;
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
  const level = Math.max(0, Math.ceil(Math.log2(Math.max(mask.q_len, mask.kv_len) / TILE_SIDE)));
  const tile = useQuery({
    queryKey: ["tile", mask.hash, level],
    queryFn: ({ signal }) => wholeTile(mask, level, signal),
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

/** The server forgets masks that were not asked for lately; compiling the text brings them back. */
async function wholeTile({ hash, text }: SmallMask, level: number, signal: AbortSignal): Promise<Uint8Array> {
  try {
    return await readTile(hash, level, 0, 0, signal);
  } catch (error) {
    if (!(text && error instanceof ApiError && error.status === 404)) throw error;
    await compileMask({ ...text, revision: 0, block_m: 128, block_n: 128, item: 0, head: 0, tiles: [] }, signal);
    return readTile(hash, level, 0, 0, signal);
  }
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
