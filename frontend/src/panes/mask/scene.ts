/** What one frame of the picture shows, and which tiles it needs. */

import type { KernelGrid } from "../../domain/kernelTiles";
import type { Layer } from "../../domain/maskQuery";
import {
  type Extent,
  levelFor,
  type Size,
  TILE_SIDE,
  type TileId,
  type Viewport,
  visibleTiles,
} from "../../domain/viewport";
import type { WantedTile } from "./tileSource";

export interface Scene {
  hash: string;
  extent: Extent;
  levels: number;
  view: Viewport;
  area: Size;
  pixelRatio: number;
  layer: Layer;
  /** The grid of kernel tiles; drawn in the kernel layer only. */
  kernel: KernelGrid;
  /** The picture of the rules; null until it is known. */
  rules: string | null;
  /** The mask whose cells are lit. */
  lit: string | null;
  patterns: boolean;
}

export const RULES_PREFIX = "rules:";

/** Kernel tiles smaller than this many pixels get neither hatch nor lines. */
export const HATCH_FROM = 7;

/** The name of the picture that lies at the bottom. */
export function baseSource({ layer, rules, hash }: Scene): string {
  return layer === "rules" && rules !== null ? RULES_PREFIX + rules : hash;
}

/** The tiles to fetch for a scene; the coarsest one comes first and covers everything else until it is there. */
export function tilesOf(scene: Scene): WantedTile[] {
  const base = tilesOfSource(scene, baseSource(scene), sceneLevel(scene));
  return scene.lit === null ? base : [...base, ...tilesOfSource(scene, scene.lit, plainLevel(scene))];
}

export function tilesOfSource(scene: Scene, source: string, level: number): WantedTile[] {
  const root = { source, z: scene.levels - 1, y: 0, x: 0 };
  const fine = visibleTiles(scene.view, scene.area, level, scene.extent);
  return [root, ...fine.map((tile) => ({ source, ...tile }))];
}

export function plainLevel({ view, pixelRatio, levels }: Scene): number {
  return levelFor(view, pixelRatio, levels);
}

export function sceneLevel(scene: Scene): number {
  const level = plainLevel(scene);
  return scene.layer === "kernel" ? Math.max(level, Math.min(scene.kernel.level, scene.levels - 1)) : level;
}

/** Kernel tiles are drawn as such once they are as large as a pixel of their level. */
export function showsKernelTiles(scene: Scene): boolean {
  return scene.layer === "kernel" && sceneLevel(scene) === scene.kernel.level;
}

/** Where a tile lies on the area; both ends are snapped to device pixels, so that neighbours meet without a seam. */
export function tileRect(scene: Scene, tile: TileId): [x: number, y: number, width: number, height: number] {
  const { view, pixelRatio } = scene;
  const side = TILE_SIDE * 2 ** tile.z;
  const snap = (value: number) => Math.round(value * pixelRatio) / pixelRatio;
  const x = snap((tile.x * side - view.k0) * view.kScale);
  const y = snap((tile.y * side - view.q0) * view.qScale);
  const right = snap(((tile.x + 1) * side - view.k0) * view.kScale);
  const bottom = snap(((tile.y + 1) * side - view.q0) * view.qScale);
  return [x, y, right - x, bottom - y];
}
