import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CompileRequest, CompileResult, Mask, Parameter } from "../src/api/types";
import { Workspace } from "../src/app/workspace";

interface Call {
  request: CompileRequest;
  signal: AbortSignal;
  answer: (result: Partial<CompileResult>) => Promise<void>;
  fail: (error: Error) => Promise<void>;
}

const parameter = (name: string): Parameter => ({
  name,
  type: "int",
  default: null,
  doc: "",
  minimum: null,
  maximum: null,
  per: null,
});
const program = (...names: string[]) => ({ name: "m", doc: "", parameters: names.map(parameter), examples: [] });
const mask = (hash: string) => ({ hash }) as Mask;

function setUp() {
  const calls: Call[] = [];
  const workspace = new Workspace((request, signal) => {
    return new Promise((resolve, reject) => {
      const settle = async () => {
        await Promise.resolve();
        await Promise.resolve();
      };
      calls.push({
        request,
        signal,
        answer: (result) => {
          const base = {
            revision: request.revision ?? 0,
            program: null,
            values: {},
            assumed: [],
            diagnostics: [],
            mask: null,
            assertions: [],
            batch: null,
            tiles: null,
          };
          const timings = { check_ms: 0, bind_ms: 0, plan_ms: 0 };
          resolve({ result: { ...base, timings, ...result }, tiles: [] });
          return settle();
        },
        fail: (error) => {
          reject(error);
          return settle();
        },
      });
    });
  });
  const call = (index: number): Call => {
    const found = calls[index];
    if (!found) throw new Error(`call ${index} was not made, there are ${calls.length}`);
    return found;
  };
  return { workspace, calls, call };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the workspace", () => {
  it("compiles a change at once, and those made meanwhile together", async () => {
    const { workspace, calls, call } = setUp();
    workspace.open({ source: "a", values: {} });
    vi.advanceTimersByTime(0);
    expect(calls).toHaveLength(1);
    for (const text of ["ab", "abc", "abcd"]) {
      workspace.edit(text);
      vi.advanceTimersByTime(20);
    }
    expect(calls).toHaveLength(1);
    await call(0).answer({ mask: mask("old") });
    vi.advanceTimersByTime(0);
    expect(calls).toHaveLength(2);
    expect(call(1).request.source).toBe("abcd");
    expect(workspace.getState().mask).toBeNull();
    await call(1).answer({ mask: mask("new") });
    vi.advanceTimersByTime(10_000);
    expect([calls.length, workspace.getState().mask?.hash, workspace.getState().fresh]).toEqual([2, "new", true]);
  });

  it("asks for what is typed before anybody hears of it, with the tiles that the picture will need", async () => {
    const { workspace, calls, call } = setUp();
    workspace.open({ source: "a", values: {} });
    expect(call(0).request.tiles).toEqual([]);
    await call(0).answer({ mask: mask("first") });
    const wanted = [{ z: 2, y: 0, x: 0 }];
    workspace.setWantedTiles(() => wanted);
    const asked: number[] = [];
    workspace.subscribe(() => asked.push(calls.length));
    workspace.edit("ab");
    expect(asked).toEqual([2]);
    expect(call(1).request).toMatchObject({ source: "ab", tiles: wanted });
    workspace.setWantedTiles(null);
    await call(1).answer({ mask: mask("second") });
    workspace.setValue("n", 1);
    expect(call(2).request.tiles).toEqual([]);
  });

  it("does not wait for a slow answer for long", () => {
    const { workspace, calls, call } = setUp();
    workspace.open({ source: "slow", values: {} });
    vi.advanceTimersByTime(0);
    workspace.edit("next");
    vi.advanceTimersByTime(249);
    expect(calls).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(call(1).request.source).toBe("next");
    expect(call(0).signal.aborted).toBe(true);
  });

  it("tells an error when the typing pauses, and a picture at once", async () => {
    const { workspace, calls, call } = setUp();
    const error = { severity: "error" } as CompileResult["diagnostics"][number];
    workspace.open({ source: "good", values: {} });
    vi.advanceTimersByTime(0);
    await call(0).answer({ mask: mask("good") });
    workspace.edit("goo");
    vi.advanceTimersByTime(50);
    await call(1).answer({ diagnostics: [error] });
    expect([workspace.getState().fresh, workspace.getState().result?.diagnostics]).toEqual([false, []]);
    workspace.edit("good!");
    vi.advanceTimersByTime(50);
    await call(2).answer({ mask: mask("better") });
    expect(workspace.getState()).toMatchObject({ fresh: true, mask: { hash: "better" } });
    workspace.edit("bad");
    vi.advanceTimersByTime(0);
    await call(3).answer({ diagnostics: [error] });
    vi.advanceTimersByTime(399);
    expect(workspace.getState().fresh).toBe(false);
    vi.advanceTimersByTime(1);
    expect(workspace.getState()).toMatchObject({ fresh: true, result: { diagnostics: [error] } });
    expect(calls).toHaveLength(4);
  });

  it("tells an error at once when compiling was asked for, and when a number is wrong", async () => {
    const { workspace, call } = setUp();
    const error = { severity: "error" } as CompileResult["diagnostics"][number];
    workspace.open({ source: "good", values: {} });
    vi.advanceTimersByTime(0);
    await call(0).answer({ program: program("n") });
    workspace.edit("bad");
    workspace.compileNow();
    vi.advanceTimersByTime(0);
    await call(1).answer({ diagnostics: [error] });
    expect(workspace.getState().fresh).toBe(true);
    workspace.setValue("n", -1);
    vi.advanceTimersByTime(0);
    await call(2).answer({ program: program("n"), values: { n: -1 }, diagnostics: [error] });
    expect(workspace.getState().fresh).toBe(true);
  });

  it("drops an answer that comes after a later change", async () => {
    const { workspace, call } = setUp();
    workspace.open({ source: "old", values: {} });
    vi.advanceTimersByTime(0);
    workspace.edit("new");
    vi.advanceTimersByTime(250);
    await call(1).answer({ mask: mask("new") });
    await call(0).answer({ mask: mask("old") });
    expect(workspace.getState().mask?.hash).toBe("new");
    workspace.edit("newer");
    expect(workspace.getState().fresh).toBe(false);
  });

  it("keeps the last mask and form while the text is broken", async () => {
    const { workspace, call } = setUp();
    workspace.open({ source: "good", values: { n: 3 } });
    vi.advanceTimersByTime(0);
    await call(0).answer({ program: program("n"), values: { n: 3 }, mask: mask("good") });
    workspace.edit("bro ken");
    vi.advanceTimersByTime(150);
    await call(1).answer({ program: null, mask: null });
    const state = workspace.getState();
    expect([state.mask?.hash, state.program?.name, state.result?.mask]).toEqual(["good", "m", null]);
    expect(state.maskOf).toEqual({ source: "good", values: { n: 3 }, item: 0, head: 0 });
    expect(workspace.shownValues()).toEqual({ n: 3 });
  });

  it("sends no value that the text has no parameter for, and remembers it all the same", async () => {
    const { workspace, calls, call } = setUp();
    workspace.open({ source: "one", values: { n: 3, targets: 5 } });
    vi.advanceTimersByTime(0);
    await call(0).answer({ program: program("n"), diagnostics: [] });
    vi.advanceTimersByTime(0);
    expect(call(1).request.values).toEqual({ n: 3 });
    await call(1).answer({ program: program("n"), values: { n: 3 }, mask: mask("x") });
    vi.advanceTimersByTime(1000);
    expect(calls).toHaveLength(2);
    workspace.edit("two");
    vi.advanceTimersByTime(150);
    await call(2).answer({ program: program("n", "targets"), values: { n: 3, targets: 1 }, mask: mask("y") });
    vi.advanceTimersByTime(0);
    expect(call(3).request.values).toEqual({ n: 3, targets: 5 });
  });

  it("keeps the text when the server is away, and says so", async () => {
    const { workspace, call } = setUp();
    workspace.open({ source: "mine", values: {} });
    vi.advanceTimersByTime(0);
    await call(0).fail(new Error("away"));
    expect(workspace.getState()).toMatchObject({ source: "mine", fault: { message: "away" } });
    workspace.compileNow();
    vi.advanceTimersByTime(0);
    await call(1).answer({ mask: mask("back") });
    expect(workspace.getState()).toMatchObject({ fault: null, mask: { hash: "back" } });
  });
});
