import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { compileMask, readTile } from "../../api/calls";
import { ApiError } from "../../api/client";
import type { Preset } from "../../api/types";
import { densityLut, PALETTES, type ThemeName } from "../../domain/palette";
import { TILE_SIDE } from "../../domain/viewport";

const SIDE = 96;

/** The whole mask in a small square, from the density tile that holds all of it; read when it comes into view. */
export function Thumbnail({ preset, theme }: { preset: Preset; theme: ThemeName }) {
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
  const level = Math.max(0, Math.ceil(Math.log2(Math.max(preset.q_len, preset.kv_len) / TILE_SIDE)));
  const tile = useQuery({
    queryKey: ["tile", preset.hash, level],
    queryFn: ({ signal }) => wholeTile(preset, level, signal),
    staleTime: Infinity,
    enabled: seen,
  });
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !tile.data) return;
    draw(context, tile.data, preset.q_len / 2 ** level, preset.kv_len / 2 ** level, theme);
  }, [tile.data, preset, level, theme]);
  return (
    <span aria-hidden="true">
      <canvas ref={canvas} width={SIDE * 2} height={SIDE * 2} className="thumbnail" />
    </span>
  );
}

/** The server forgets masks that were not asked for lately; compiling the preset brings it back. */
async function wholeTile(preset: Preset, level: number, signal: AbortSignal): Promise<Uint8Array> {
  try {
    return await readTile(preset.hash, level, 0, 0, signal);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
    await compileMask(
      { source: preset.source, values: preset.values, revision: 0, block_m: 128, block_n: 128, item: 0, head: 0 },
      signal,
    );
    return readTile(preset.hash, level, 0, 0, signal);
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
