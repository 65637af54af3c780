import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { unpackTiles } from "../src/api/tileBundle";

const TILE = 256 * 256;

function packed(bytes: Uint8Array): string {
  return deflateSync(bytes).toString("base64");
}

describe("tiles that come with a mask", () => {
  it("are the server's bytes, each at its place", async () => {
    const bytes = Uint8Array.from({ length: 2 * TILE }, (_, i) => (i * 7 + (i >> 8)) % 256);
    const places = [
      { z: 3, y: 0, x: 1 },
      { z: 2, y: 5, x: 4 },
    ];
    const tiles = await unpackTiles({ tiles: places, content: packed(bytes) });
    expect(tiles.map(({ z, y, x }) => ({ z, y, x }))).toEqual(places);
    expect(tiles[0]?.bytes).toEqual(bytes.slice(0, TILE));
    expect(tiles[1]?.bytes).toEqual(bytes.slice(TILE));
    expect(await unpackTiles({ tiles: [], content: packed(new Uint8Array()) })).toEqual([]);
  });

  it("are refused when bytes are missing", async () => {
    const content = packed(new Uint8Array(TILE - 1));
    await expect(unpackTiles({ tiles: [{ z: 0, y: 0, x: 0 }], content })).rejects.toThrow("1 tiles need 65536 bytes");
  });
});
