/** Tiles by the name of what they picture: fetched a few at a time, kept while room lasts. */

import { LruCache } from "../../domain/lru";
import type { TileId } from "../../domain/viewport";

/** Reads one tile of a mask (by its content hash) or of another picture that has a name. */
export type ReadTile<T> = (source: string, z: number, y: number, x: number, signal: AbortSignal) => Promise<T>;

const AT_ONCE = 6;

export interface WantedTile extends TileId {
  source: string;
}

export function tileKey({ source, z, y, x }: WantedTile): string {
  return `${source}/${z}/${y}/${x}`;
}

interface TileSourceOptions<T> {
  read: ReadTile<T>;
  onArrival: () => void;
  onError: (source: string, error: unknown) => void;
  kept: number;
}

export class TileSource<T> {
  readonly #options: TileSourceOptions<T>;
  readonly #tiles: LruCache<string, T>;
  readonly #running = new Map<string, AbortController>();
  readonly #failed = new Set<string>();
  #queue: WantedTile[] = [];

  constructor(options: TileSourceOptions<T>) {
    this.#options = options;
    this.#tiles = new LruCache<string, T>(options.kept);
  }

  get(tile: WantedTile): T | undefined {
    return this.#tiles.get(tileKey(tile));
  }

  /** Keeps a tile that came without being asked for here. */
  put(tile: WantedTile, content: T): void {
    this.#tiles.set(tileKey(tile), content);
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
      if (keys.has(key)) continue;
      controller.abort();
      // It may be wanted again before it has ended.
      this.#running.delete(key);
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
      const content = await this.#options.read(tile.source, tile.z, tile.y, tile.x, controller.signal);
      this.#tiles.set(key, content);
      this.#options.onArrival();
    } catch (error) {
      if (!controller.signal.aborted) {
        this.#failed.add(key);
        this.#options.onError(tile.source, error);
        this.#options.onArrival();
      }
    } finally {
      if (this.#running.get(key) === controller) this.#running.delete(key);
      this.#pump();
    }
  }
}
