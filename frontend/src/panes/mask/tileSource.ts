/** Density tiles by content hash: fetched a few at a time, kept while room lasts. */

import { LruCache } from "../../domain/lru";
import type { TileId } from "../../domain/viewport";

export type ReadTile = (hash: string, z: number, y: number, x: number, signal: AbortSignal) => Promise<Uint8Array>;

const AT_ONCE = 6;
const KEPT = 512;

export interface WantedTile extends TileId {
  hash: string;
}

export function tileKey({ hash, z, y, x }: WantedTile): string {
  return `${hash}/${z}/${y}/${x}`;
}

interface TileSourceOptions {
  read: ReadTile;
  onArrival: () => void;
  onError: (hash: string, error: unknown) => void;
}

export class TileSource {
  readonly #options: TileSourceOptions;
  readonly #tiles = new LruCache<string, Uint8Array>(KEPT);
  readonly #running = new Map<string, AbortController>();
  readonly #failed = new Set<string>();
  #queue: WantedTile[] = [];

  constructor(options: TileSourceOptions) {
    this.#options = options;
  }

  get(tile: WantedTile): Uint8Array | undefined {
    return this.#tiles.get(tileKey(tile));
  }

  /** True when nothing more can be expected for this tile at the moment. */
  settled(tile: WantedTile): boolean {
    const key = tileKey(tile);
    return this.#tiles.has(key) || this.#failed.has(key);
  }

  /** Fetch these, in this order, and stop fetching all others. */
  want(tiles: readonly WantedTile[]): void {
    const keys = new Set(tiles.map(tileKey));
    for (const [key, controller] of this.#running) {
      if (!keys.has(key)) controller.abort();
    }
    this.#queue = tiles.filter((tile) => !this.settled(tile) && !this.#running.has(tileKey(tile)));
    this.#pump();
  }

  retry(): void {
    this.#failed.clear();
  }

  dispose(): void {
    this.#queue = [];
    for (const controller of this.#running.values()) controller.abort();
  }

  #pump(): void {
    while (this.#running.size < AT_ONCE) {
      const tile = this.#queue.shift();
      if (tile === undefined) return;
      void this.#fetch(tile);
    }
  }

  async #fetch(tile: WantedTile): Promise<void> {
    const key = tileKey(tile);
    const controller = new AbortController();
    this.#running.set(key, controller);
    try {
      const bytes = await this.#options.read(tile.hash, tile.z, tile.y, tile.x, controller.signal);
      this.#tiles.set(key, bytes);
      this.#options.onArrival();
    } catch (error) {
      if (!controller.signal.aborted) {
        this.#failed.add(key);
        this.#options.onError(tile.hash, error);
        this.#options.onArrival();
      }
    } finally {
      this.#running.delete(key);
      this.#pump();
    }
  }
}
