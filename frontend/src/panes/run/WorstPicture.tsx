import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Run } from "../../api/types";
import { readWholeTile } from "../../api/wholeTile";
import { TILE_SIDE, wholeLevel } from "../../domain/viewport";
import { labelLanes, worstLines, worstPlace } from "../../domain/worst";

const SIDE = 180;

/** The run's mask, with a line where each tensor is worst: a row for o, lse and dq, a column for dk and dv. */
export function WorstPicture({ run }: { run: Run }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const level = wholeLevel({ qLen: run.q_len, kvLen: run.kv_len });
  const tile = useQuery({
    queryKey: ["tile", run.mask_hash, level],
    queryFn: ({ signal }) => readWholeTile(run.mask_hash, level, run, signal),
    staleTime: Infinity,
    retry: false,
  });
  const places = run.errors.flatMap((row) => {
    const place = worstPlace(row, run);
    return place ? [{ quantity: row.quantity, place }] : [];
  });
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context && tile.data) draw(context, tile.data, run.q_len / 2 ** level, run.kv_len / 2 ** level);
  }, [tile.data, level, run.q_len, run.kv_len]);
  if (places.length === 0 || tile.isError) return null;
  return (
    <figure className="worst-picture">
      <div className="worst-frame">
        <canvas ref={canvas} width={TILE_SIDE} height={TILE_SIDE} style={{ width: SIDE, height: SIDE }} />
        <Lines run={run} side="query" />
        <Lines run={run} side="key" />
      </div>
      <figcaption className="muted small-text">
        Where each tensor is worst: queries downwards, keys to the right.{" "}
        {places.map(({ quantity, place }) => `${quantity} at ${place.position}`).join(", ")}.
      </figcaption>
    </figure>
  );
}

/** The lines of one side, with their labels in lanes, so that each can be read. */
function Lines({ run, side }: { run: Run; side: "query" | "key" }) {
  const key = side === "key";
  const lines = worstLines(run).filter((line) => line.side === side);
  const places = lines.map(({ position }) => (SIDE * (position + 0.5)) / Math.max(1, key ? run.kv_len : run.q_len));
  const lanes = labelLanes(places, key ? 26 : 14);
  return lines.map(({ position, quantities }, index) => {
    const reach = 14 + (lanes[index] ?? 0) * (key ? 14 : 34);
    return (
      <span
        key={position}
        className={key ? "worst-line column" : "worst-line row"}
        style={key ? { left: places[index], top: -reach } : { top: places[index], right: -reach }}
      >
        <code>{quantities.join(" ")}</code>
      </span>
    );
  });
}

function draw(context: CanvasRenderingContext2D, bytes: Uint8Array, rows: number, columns: number): void {
  const height = Math.max(1, Math.ceil(rows));
  const width = Math.max(1, Math.ceil(columns));
  const small = document.createElement("canvas");
  small.width = width;
  small.height = height;
  const inner = small.getContext("2d");
  if (!inner) return;
  const style = getComputedStyle(document.documentElement);
  inner.fillStyle = style.getPropertyValue("--full");
  inner.fillRect(0, 0, width, height);
  const image = inner.getImageData(0, 0, width, height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) image.data[(y * width + x) * 4 + 3] = bytes[y * TILE_SIDE + x] ?? 0;
  inner.putImageData(image, 0, 0);
  context.clearRect(0, 0, TILE_SIDE, TILE_SIDE);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, columns, rows, 0, 0, TILE_SIDE, TILE_SIDE);
}
