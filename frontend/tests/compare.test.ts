import { describe, expect, it } from "vitest";
import type { ComparedRun, Comparison, LaunchSummary, Run } from "../src/api/types";
import { lengthLines, measuredRuns, rooflineFigure, speedUpFigure } from "../src/domain/compareCharts";
import { caseText, launchText, requestOf, withProgress } from "../src/domain/launchText";
import { parallelFigure } from "../src/domain/parallel";
import { leastBytes, roofOf, runIntensity } from "../src/domain/roofline";
import { parseTags } from "../src/domain/tags";
import { worstLines, worstPlace } from "../src/domain/worst";
import { reportHtml } from "../src/panes/compare/reportHtml";

const RUN = {
  id: 1,
  launch_id: 1,
  name: "first",
  note: "",
  tags: [],
  state: "done",
  verdict: "passed",
  progress: 1,
  mask_name: "causal",
  source: "mask causal(n: int)",
  values: { n: 1024 },
  q_len: 1024,
  kv_len: 1024,
  density: 0.5,
  provider: "torch",
  batch: 2,
  num_q_heads: 8,
  num_kv_heads: 2,
  head_dim: 64,
  dtype: "bfloat16",
  direction: "forward",
  seed: 3,
  max_error: 1e-3,
  tolerance: 2e-3,
  median_ms: 2,
  p20_ms: 1.9,
  p80_ms: 2.2,
  samples_ms: [1.9, 2, 2.2],
  tflops: 100,
  device: "NVIDIA H200",
  environment: {},
  flags: [],
  errors: [],
  command: "compilemask bench causal --set n=1024",
} as unknown as Run;

const run = (change: Partial<Run>) => ({ ...RUN, ...change }) as Run;
const compared = (change: Partial<Run>, more: Partial<ComparedRun> = {}): ComparedRun => ({
  run: run(change),
  against: 1,
  is_reference: false,
  unlike: [],
  ratio: 2,
  ratio_low: 1.8,
  ratio_high: 2.5,
  significant: true,
  ...more,
});

describe("charts of a comparison", () => {
  it("leave out what has no speed and what is itself the baseline", () => {
    const rows = [
      compared({}, { is_reference: true, against: null, ratio: 1 }),
      compared({ id: 2, provider: "sdpa" }),
      compared({ id: 3, verdict: "failed", median_ms: null }, { ratio: null, ratio_low: null, ratio_high: null }),
    ];
    expect(measuredRuns(rows).map(({ id }) => id)).toEqual([1, 2]);
    const [bars] = speedUpFigure(rows, "black")?.data ?? [];
    expect(bars).toMatchObject({ x: ["sdpa #2"], y: [2] });
    expect((bars as { error_y: { array: number[]; arrayminus: number[] } }).error_y.array[0]).toBeCloseTo(0.5);
    expect(speedUpFigure(rows.slice(0, 1), "black")).toBeNull();
  });

  it("draw lines by length only where a provider has two lengths, the shortest first", () => {
    const runs = [
      run({ id: 1, q_len: 4096 }),
      run({ id: 2, q_len: 1024 }),
      run({ id: 3, provider: "sdpa" }),
      run({ id: 4, q_len: 2048, head_dim: 128 }),
    ];
    const lines = lengthLines(measuredRuns(runs.map((one) => compared(one))));
    expect([...lines].map(([name, members]) => [name, members.map((one) => one.id)])).toEqual([["torch", [2, 1]]]);
  });

  it("put lines over the fields that differ, from least to most", () => {
    const runs = measuredRuns([compared({ median_ms: 1 }), compared({ id: 2, provider: "sdpa", median_ms: 4 })]);
    const figure = parallelFigure(runs, 1, "black");
    expect(figure?.layout.xaxis).toMatchObject({ ticktext: ["provider", "median"] });
    expect(figure?.data.map((line) => (line as { y: number[] }).y)).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect(parallelFigure(runs.slice(0, 1), 1, "black")).toBeNull();
  });
});

describe("the roofline", () => {
  it("counts every tensor once", () => {
    const rows = 2 * 8 * 1024;
    const keys = 2 * 2 * 1024;
    expect(leastBytes(RUN)).toBe((2 * rows + 2 * keys) * 64 * 2 + 4 * rows);
    expect(leastBytes(run({ direction: "forward+backward" }))).toBe(
      leastBytes(RUN) + leastBytes(run({ direction: "backward" })),
    );
    // 100 TFLOP/s for 2 ms are 0.2 TFLOP.
    expect(runIntensity(RUN)).toBeCloseTo(2e11 / leastBytes(RUN));
    expect(runIntensity(run({ tflops: null }))).toBeNull();
  });

  it("has a roof for devices whose data sheet is known, and no other", () => {
    expect(roofOf(RUN)).toEqual({ tflops: 989, bytesPerSecond: 4.8e12 });
    expect(roofOf(run({ dtype: "float32" }))?.tflops).toBe(67);
    expect(roofOf(run({ device: "AMD EPYC" }))).toBeNull();
    const names = (device: string) =>
      rooflineFigure(measuredRuns([compared({ device })]), "black")?.data.map(
        (line) => (line as { name: string }).name,
      );
    expect(names("NVIDIA H200")).toEqual(["data sheet", "torch"]);
    expect(names("AMD EPYC")).toEqual(["torch"]);
  });
});

describe("the report", () => {
  const evil = '</script><img src=x onerror="alert(1)">';
  const comparison: Comparison = {
    baseline_id: 1,
    runs: [compared({ name: evil, command: evil, source: evil }, { is_reference: true }), compared({ id: 2 })],
    fields: [{ field: "name", group: "case", values: [evil, "b"], differs: true }],
    warnings: [evil],
  };

  it("holds every number and command, and lets no name become markup", () => {
    const charts = [{ title: evil, figure: { data: [{ type: "bar", x: [evil], y: [1] }], layout: {} } }];
    const html = reportHtml(comparison, charts as never, "window.Plotly = {}; // </script>", "today");
    expect(html).not.toContain("<img");
    // The script of the charts, the figures and the code that draws them, and no more.
    expect(html.match(/<script/g)).toHaveLength(3);
    expect(html.match(/<\/script/g)).toHaveLength(3);
    expect(html).toContain("▲ 2.00× faster");
    expect(html).toContain("compilemask bench causal --set n=1024");
    const figures = html.match(/id="figures">(.*?)<\/script>/s)?.[1] ?? "";
    expect(JSON.parse(figures)[0].data[0].x).toEqual([evil]);
    expect(html).not.toMatch(/(?:src|href)="?https?:/);
  });
});

describe("where an error is worst", () => {
  it("is a row of the mask for o, lse and dq, and a column for dk and dv", () => {
    const at = (quantity: "o" | "dk", index: number[]) =>
      worstPlace({ quantity, worst_index: index }, { q_len: 100, kv_len: 10 });
    expect(at("o", [0, 3, 70, 5])).toEqual({ batch: 0, head: 3, position: 70, channel: 5, cell: { q: 70, k: 9 } });
    expect(at("dk", [1, 0, 7, 5])?.cell).toEqual({ q: 7, k: 7 });
    expect(worstPlace({ quantity: "lse", worst_index: [0, 1, 2] }, { q_len: 9, kv_len: 9 })?.channel).toBeNull();
    expect(worstPlace({ quantity: "o", worst_index: null }, { q_len: 9, kv_len: 9 })).toBeNull();
  });

  it("is one line for all tensors that are worst in the same place", () => {
    const error = (quantity: "o" | "lse" | "dk", position: number) =>
      ({ quantity, worst_index: [0, 0, position, 0] }) as Run["errors"][number];
    const errors = [error("o", 5), error("lse", 5), error("dk", 5)];
    expect(worstLines({ errors, q_len: 9, kv_len: 9 })).toEqual([
      { side: "query", position: 5, quantities: ["o", "lse"] },
      { side: "key", position: 5, quantities: ["dk"] },
    ]);
  });
});

describe("launches in words", () => {
  const launch: LaunchSummary = {
    id: 7,
    name: "causal",
    state: "running",
    position: 0,
    reason: null,
    created_at: "2026-11-30T08:00:00Z",
    started_at: null,
    finished_at: null,
    counts: { total: 4, finished: 1, passed: 1, failed: 0 },
    progress: 0.25,
  };

  it("count what is finished", () => {
    expect(launchText(launch)).toBe("Running in a process of its own: 1 of 4 runs are finished.");
    expect(launchText({ ...launch, state: "done", position: null })).toBe("Finished: 1 of 4 passed.");
    expect(launchText({ ...launch, state: "queued", position: 2 })).toBe("Waiting: 1 launch in front of it.");
  });

  it("follow the run that is measured, and no other launch's", () => {
    const further = run({ launch_id: 7, state: "running", progress: 0.5 });
    expect(withProgress(launch, further).progress).toBe(0.375);
    expect(withProgress(launch, { ...further, launch_id: 8 })).toBe(launch);
    expect(withProgress(launch, { ...further, state: "done", progress: 1 })).toBe(launch);
  });

  it("that repeat a run ask for what it was", () => {
    const request = requestOf(run({ direction: "backward", tags: ["a"] }));
    expect(request).toMatchObject({ providers: ["torch"], direction: "backward", seed: 3, tags: ["a"] });
    expect(request.shape).toEqual({ batch: 2, num_q_heads: 8, num_kv_heads: 2, head_dim: 64 });
    expect(caseText(run({ direction: "backward" }))).toBe("n=1024 · 2 × 8/2 × 64 · bfloat16 · backward");
  });
});

describe("tags", () => {
  it("are words behind commas, each once", () => {
    expect(parseTags(" a, größe 2,a,, v1.2 ")).toEqual({ ok: true, value: ["a", "größe 2", "v1.2"] });
    expect(parseTags('a"b').ok).toBe(false);
    expect(parseTags("x".repeat(41)).ok).toBe(false);
    expect(parseTags(Array.from({ length: 17 }, (_, at) => `t${at}`).join(",")).ok).toBe(false);
  });
});
