import { beforeEach, expect, it, vi } from "vitest";
import { compileMask, readTile } from "../src/api/calls";
import { ApiError } from "../src/api/client";
import { readWholeTile } from "../src/api/wholeTile";

vi.mock("../src/api/calls");

const TEXT = { source: "mask m(n: int)", values: { n: 4 } };
const BYTES = new Uint8Array(65536).fill(7);
const asked: string[] = [];

/** A server that knows the mask, or knows it once its text was compiled. */
function serve(known: boolean): void {
  let knows = known;
  vi.mocked(readTile).mockImplementation(async (hash, z, y, x) => {
    asked.push(`tile ${hash} ${z}/${y}/${x}`);
    if (!knows) throw new ApiError(404, "mask_unknown", "the server does not know this mask any more");
    return BYTES;
  });
  vi.mocked(compileMask).mockImplementation(async ({ source, values }) => {
    asked.push(`compile ${source} ${JSON.stringify(values)}`);
    knows = true;
    return {} as Awaited<ReturnType<typeof compileMask>>;
  });
}

beforeEach(() => {
  asked.length = 0;
});

const read = (text: typeof TEXT | null) => readWholeTile("abc", 3, text, new AbortController().signal);

it("reads the tile of a mask that the server knows, and nothing else", async () => {
  serve(true);
  expect(await read(TEXT)).toEqual(BYTES);
  expect(asked).toEqual(["tile abc 3/0/0"]);
});

it("compiles the text of a mask that was forgotten, and reads again", async () => {
  serve(false);
  expect(await read(TEXT)).toEqual(BYTES);
  expect(asked).toEqual(["tile abc 3/0/0", 'compile mask m(n: int) {"n":4}', "tile abc 3/0/0"]);
});

it("says so when there is no text to bring it back", async () => {
  serve(false);
  await expect(read(null)).rejects.toThrow("the server does not know this mask any more");
});
