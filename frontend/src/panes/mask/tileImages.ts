/** Tiles as small canvases in the colours of a palette. */

import { type KernelGrid, pixelKinds, type Remaining } from "../../domain/kernelTiles";
import { LruCache } from "../../domain/lru";
import { densityLut, kindLut, type MaskPalette, rulesLut, VEIL_LUT } from "../../domain/palette";
import { TILE_SIDE } from "../../domain/viewport";

const KEPT_IMAGES = 320;

export class TileImages {
  readonly #images = new LruCache<string, HTMLCanvasElement>(KEPT_IMAGES);
  readonly #kinds = new LruCache<string, Uint8Array>(256);
  #palette: MaskPalette;
  #luts: { density: Uint32Array; kinds: Uint32Array; rules: Uint32Array };

  constructor(palette: MaskPalette) {
    this.#palette = palette;
    this.#luts = lutsOf(palette);
  }

  get palette(): MaskPalette {
    return this.#palette;
  }

  setPalette(palette: MaskPalette): void {
    if (palette === this.#palette) return;
    this.#palette = palette;
    this.#luts = lutsOf(palette);
    this.#images.clear();
  }

  density(key: string, bytes: Uint8Array): HTMLCanvasElement {
    return this.#image(`d/${key}`, bytes, this.#luts.density);
  }

  rules(key: string, bytes: Uint8Array): HTMLCanvasElement {
    return this.#image(`r/${key}`, bytes, this.#luts.rules);
  }

  /** Opaque where nothing is visible. */
  veil(key: string, bytes: Uint8Array): HTMLCanvasElement {
    return this.#image(`v/${key}`, bytes, VEIL_LUT);
  }

  /** Opaque where the shape is, by the bytes of a tile or of its kernel tiles. */
  shape(name: string, key: string, bytes: Uint8Array, shape: Uint32Array): HTMLCanvasElement {
    return this.#image(`s${name}/${key}`, bytes, shape);
  }

  /** Each pixel in the colour of its kernel tile's kind. */
  kernel(key: string, bytes: Uint8Array, grid: KernelGrid, remaining: Remaining): HTMLCanvasElement {
    return this.#image(
      `k${grid.rows}.${grid.columns}/${key}`,
      this.kinds(key, bytes, grid, remaining),
      this.#luts.kinds,
    );
  }

  kinds(key: string, bytes: Uint8Array, grid: KernelGrid, remaining: Remaining): Uint8Array {
    const name = `${grid.rows}.${grid.columns}/${key}`;
    const known = this.#kinds.get(name);
    if (known) return known;
    const kinds = pixelKinds(bytes, grid, remaining);
    this.#kinds.set(name, kinds);
    return kinds;
  }

  #image(name: string, bytes: Uint8Array, lut: Uint32Array): HTMLCanvasElement {
    const known = this.#images.get(name);
    if (known) return known;
    const canvas = document.createElement("canvas");
    canvas.width = TILE_SIDE;
    canvas.height = TILE_SIDE;
    const context = canvas.getContext("2d");
    if (context) {
      const image = context.createImageData(TILE_SIDE, TILE_SIDE);
      const pixels = new Uint32Array(image.data.buffer);
      for (let i = 0; i < pixels.length; i++) pixels[i] = lut[bytes[i] ?? 0] ?? 0;
      context.putImageData(image, 0, 0);
    }
    this.#images.set(name, canvas);
    return canvas;
  }
}

function lutsOf(palette: MaskPalette) {
  return { density: densityLut(palette), kinds: kindLut(palette), rules: rulesLut(palette) };
}
