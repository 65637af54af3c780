import { describe, expect, it, vi } from "vitest";
import { TileSource } from "../src/panes/mask/tileSource";

describe("tiles that are fetched", () => {
  it("are fetched anew when they are wanted again before an earlier fetch of them has been given up", async () => {
    const signals: AbortSignal[] = [];
    const onArrival = vi.fn();
    const source = new TileSource<string>({
      read: (_, z, __, ___, signal) =>
        new Promise((resolve, reject) => {
          signals.push(signal);
          signal.addEventListener("abort", () => setTimeout(() => reject(signal.reason), 0));
          if (signals.length > 1) setTimeout(() => resolve(`level ${z}`), 5);
        }),
      onArrival,
      onError: (_, error) => expect.fail(String(error)),
      kept: 8,
    });
    const tile = { source: "mask", z: 3, y: 0, x: 0 };
    source.want([tile]);
    source.want([]);
    source.want([tile]);
    await vi.waitFor(() => expect(source.get(tile)).toBe("level 3"));
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
    expect(onArrival).toHaveBeenCalledTimes(1);
    source.put({ ...tile, y: 1 }, "given");
    source.want([{ ...tile, y: 1 }]);
    expect([source.settled({ ...tile, y: 1 }), signals.length]).toEqual([true, 2]);
  });
});
