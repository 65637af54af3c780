import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Assertion, CellExplanation, Diagnostic, Launch, Mask, Parameter, Run, Value } from "../src/api/types";
import { AssertionsView } from "../src/panes/inspector/AssertionsView";
import { LaunchProgress } from "../src/panes/launch/LaunchProgress";
import { MaskReadout } from "../src/panes/mask/MaskReadout";
import { ListSources } from "../src/panes/parameters/ListSources";
import { ParametersPane } from "../src/panes/parameters/ParametersPane";
import { DocText } from "../src/widgets/DocText";
import { NumberStepper } from "../src/widgets/NumberStepper";

afterEach(cleanup);

describe("a number field", () => {
  it("sends whole numbers only and says what is wrong with the rest", () => {
    const onChange = vi.fn();
    render(<NumberStepper label="window" value={4} min={1} max={9} onChange={onChange} />);
    const field = screen.getByLabelText("window");
    fireEvent.change(field, { target: { value: "7" } });
    fireEvent.change(field, { target: { value: "7x" } });
    expect(screen.getByRole("alert").textContent).toBe("window “7x” is not a whole number");
    fireEvent.change(field, { target: { value: "12" } });
    expect(screen.getByRole("alert").textContent).toBe("window must be at most 9");
    expect(onChange.mock.calls).toEqual([[7]]);
  });

  it("steps by sizes that meet again on the way back", () => {
    const seen = [1];
    const { rerender } = render(<NumberStepper label="n" value={1} onChange={(value) => seen.push(value)} />);
    const press = (key: string) => {
      fireEvent.keyDown(screen.getByLabelText("n"), { key });
      rerender(<NumberStepper label="n" value={seen.at(-1) ?? 0} onChange={(value) => seen.push(value)} />);
    };
    for (let i = 0; i < 40; i++) press("ArrowUp");
    const top = seen.length;
    for (let i = 0; i < 40; i++) press("ArrowDown");
    expect(seen.slice(top - 1)).toEqual(seen.slice(0, top).reverse());
  });
});

describe("the parameters form", () => {
  const plain = { default: null, doc: "", minimum: null, maximum: null, per: null };
  const program = {
    name: "m",
    doc: "",
    parameters: [
      { name: "n", type: "int" as const, ...plain, doc: "tokens" },
      { name: "lengths", type: "int[]" as const, ...plain },
      { name: "on", type: "bool" as const, ...plain },
    ],
    examples: [{ name: "small", values: { n: 8, lengths: [1, 2], on: true } }],
  };

  it("has a field for each parameter and marks what was assumed", () => {
    const onValue = vi.fn();
    const onExample = vi.fn();
    const values = { n: 8, lengths: [1, 2], on: false };
    render(
      <ParametersPane
        program={program}
        values={values}
        assumed={["n"]}
        diagnostics={[]}
        onValue={onValue}
        onExample={onExample}
      />,
    );
    expect(screen.getAllByText("assumed")).toHaveLength(1);
    fireEvent.change(screen.getByLabelText("lengths"), { target: { value: "3, 4 x 2" } });
    fireEvent.change(screen.getByLabelText("lengths"), { target: { value: "3, four" } });
    fireEvent.click(screen.getByRole("switch", { name: "on" }));
    fireEvent.click(screen.getByRole("button", { name: "small" }));
    expect(onValue.mock.calls).toEqual([
      ["lengths", [3, 2, 2, 2, 2]],
      ["on", true],
    ]);
    expect(onExample.mock.calls).toEqual([[program.examples[0]?.values]]);
  });
});

describe("a number that the server refuses", () => {
  it("is marked at its field", () => {
    const plain = { default: null, doc: "", minimum: null, maximum: null, per: null, type: "int" as const };
    const parameters = ["n", "m"].map((name) => ({ name, ...plain }));
    const program = { name: "a", doc: "", parameters, examples: [] };
    const message = {
      severity: "error",
      message: "the length of `S` is -5",
      hint: "bind numbers that make it 0 or more",
    };
    const diagnostics = [{ ...message, parameters: ["n"] }] as unknown as Diagnostic[];
    const nothing = () => {};
    render(
      <ParametersPane
        program={program}
        values={{ n: -5, m: 1 }}
        assumed={[]}
        diagnostics={diagnostics}
        onValue={nothing}
        onExample={nothing}
      />,
    );
    const alerts = screen.getAllByRole("alert");
    expect(alerts.map((alert) => alert.textContent)).toEqual([
      "the length of S is -5; bind numbers that make it 0 or more",
    ]);
    expect(alerts[0]?.closest(".parameter")?.querySelector("label")?.textContent?.trim()).toBe("n");
  });
});

describe("a list that is made", () => {
  const parameter: Parameter = {
    name: "lengths",
    type: "int[]",
    default: null,
    doc: "",
    minimum: 1,
    maximum: null,
    per: null,
  };
  const show = () => {
    const onChange = vi.fn();
    render(<ListSources parameter={parameter} kind={{ bool: false, depth: 1 }} value={[3, 9]} onChange={onChange} />);
    return onChange;
  };

  it("holds the random numbers that were shown, and others for the next seed", () => {
    const onChange = show();
    fireEvent.click(screen.getByRole("button", { name: "Random…" }));
    for (const [label, value] of [
      ["How many", "5"],
      ["From", "2"],
      ["To", "20"],
      ["Sum", "50"],
    ] as const)
      fireEvent.change(screen.getByLabelText(label), { target: { value } });
    fireEvent.click(screen.getByRole("button", { name: "Use these" }));
    fireEvent.click(screen.getByRole("button", { name: "Next seed" }));
    fireEvent.click(screen.getByRole("button", { name: "Use these" }));
    const lists = onChange.mock.calls.map(([list]) => list as number[]);
    expect(lists.map((list) => [list.length, list.reduce((sum, value) => sum + value, 0)])).toEqual([
      [5, 50],
      [5, 50],
    ]);
    expect(lists[0]).not.toEqual(lists[1]);
    fireEvent.change(screen.getByLabelText("Sum"), { target: { value: "500" } });
    expect(screen.getByRole("alert").textContent).toBe("5 numbers from 2 to 20 add up to 10 to 100.");
    expect((screen.getByRole("button", { name: "Use these" }) as HTMLButtonElement).disabled).toBe(true);
    fireEvent.change(screen.getByLabelText("From"), { target: { value: "0" } });
    fireEvent.change(screen.getByLabelText("To"), { target: { value: "0" } });
    fireEvent.change(screen.getByLabelText("Sum"), { target: { value: "" } });
    expect(screen.getByRole("alert").textContent).toBe("The program allows 1 to ….");
  });

  it("comes from a file, or is refused with the file's name", async () => {
    const onChange = show();
    const choose = (text: string) => {
      const file = new File([text], "lengths.csv");
      fireEvent.change(screen.getByLabelText("File for lengths"), { target: { files: [file] } });
    };
    choose("length\n4\n5\n");
    await waitFor(() => expect(onChange.mock.calls).toEqual([[[4, 5]]]));
    choose("4\nfive");
    expect((await screen.findByRole("alert")).textContent).toBe("lengths.csv: row 2: “five” is not a whole number");
    expect(onChange.mock.calls).toHaveLength(1);
  });
});

describe("fields of other types", () => {
  const plain = { default: null, doc: "", minimum: null, maximum: null, per: null };
  const show = (parameter: Partial<Omit<Parameter, "type">> & { type: string }, value: Value) => {
    const onValue = vi.fn();
    const shown = { name: "p", ...plain, ...parameter } as Parameter;
    const program = { name: "m", doc: "", parameters: [shown], examples: [] };
    render(
      <ParametersPane
        program={program}
        values={{ p: value }}
        assumed={[]}
        diagnostics={[]}
        onValue={onValue}
        onExample={() => {}}
      />,
    );
    return { field: screen.getByLabelText(/^p\b/), sent: onValue.mock.calls };
  };

  it("have a line for each list of a table", () => {
    const { field, sent } = show({ type: "int[][]" }, [[3, 4], [5]]);
    expect((field as HTMLTextAreaElement).value).toBe("3, 4\n5");
    expect(screen.getByText("2 rows, 3 entries")).toBeTruthy();
    fireEvent.change(field, { target: { value: "3, 4\n5, six" } });
    expect(screen.getByRole("alert").textContent).toBe("p: line 2: “six” is not a whole number");
    fireEvent.change(field, { target: { value: "3, 4\n5, 6\n" } });
    expect(sent).toEqual([
      [
        "p",
        [
          [3, 4],
          [5, 6],
        ],
      ],
    ]);
  });

  it("name the limits of a number and keep to them", () => {
    const { field, sent } = show({ type: "int", minimum: 1, maximum: 4096 }, 4096);
    expect(screen.getByText("1 to 4,096")).toBeTruthy();
    fireEvent.change(field, { target: { value: "4097" } });
    expect(screen.getByRole("alert").textContent).toBe("p must be at most 4,096");
    fireEvent.keyDown(field, { key: "ArrowUp" });
    expect(sent).toEqual([["p", 4096]]);
  });

  it("take one value for all items, or one for each", () => {
    const { field, sent } = show({ type: "int", per: "item" }, 4);
    expect(screen.getByText("per item")).toBeTruthy();
    fireEvent.change(field, { target: { value: "4, 2" } });
    fireEvent.change(field, { target: { value: "7" } });
    expect(sent).toEqual([
      ["p", [4, 2]],
      ["p", 7],
    ]);
  });

  it("are JSON for a type that is not known here", () => {
    const { field, sent } = show({ type: "float" }, 1);
    fireEvent.change(field, { target: { value: "[1" } });
    expect(screen.getByRole("alert").textContent).toBe("p: is not JSON");
    fireEvent.change(field, { target: { value: "[[1], [2]]" } });
    expect(sent).toEqual([["p", [[1], [2]]]]);
  });
});

describe("results", () => {
  const run = {
    id: 1,
    launch_id: 1,
    provider: "torch",
    values: { n: 64 },
    q_len: 64,
    kv_len: 64,
    batch: 1,
    num_q_heads: 4,
    num_kv_heads: 4,
    head_dim: 64,
    dtype: "bfloat16",
    direction: "forward",
    state: "done",
    progress: 1,
    stage: null,
    tolerance: 1e-6,
    max_error: 0.2,
    nonfinite: {},
    reason: "error 0.2 exceeds 1e-6",
    median_ms: 3.5,
    p20_ms: 3,
    p80_ms: 4,
    tflops: 1,
  };
  const launch = (verdict: Run["verdict"]) =>
    ({
      state: "done",
      position: null,
      reason: null,
      counts: { total: 1, finished: 1, passed: Number(verdict === "passed"), failed: Number(verdict === "failed") },
      progress: 1,
      offset: 0,
      runs: [{ ...run, verdict }],
    }) as unknown as Launch;
  const show = (verdict: Run["verdict"]) =>
    render(<LaunchProgress launch={launch(verdict)} page={0} onPage={vi.fn()} />);

  it("that are wrong show the reason and never a speed, even if there is one", () => {
    show("failed");
    expect(screen.getByText("wrong result")).toBeTruthy();
    expect(screen.getByText("error 0.2 exceeds 1e-6")).toBeTruthy();
    expect(screen.queryByText(/3\.50 ms/)).toBeNull();
    expect(screen.queryByText(/FLOP/)).toBeNull();
  });

  it("that are right show their speed with its spread", () => {
    show("passed");
    expect(screen.getByText(/3\.50 ms/)).toBeTruthy();
    expect(screen.getByText("3.00 – 4.00 ms")).toBeTruthy();
    expect(screen.getByText("1.00 TFLOP/s")).toBeTruthy();
  });
});

describe("assertions", () => {
  const assertion = (text: string, more: Partial<Assertion>): Assertion => ({
    text,
    span: { start: text.length, stop: text.length + 1 },
    line: text.length,
    holds: false,
    message: `\`${text}\` does not hold`,
    counter_example: null,
    failing_cells: 0,
    ...more,
  });

  it("lead to the cell that breaks them, else to their line", () => {
    const onPoint = vi.fn();
    const onGoTo = vi.fn();
    const assertions = [
      assertion("holds", { holds: true, message: null }),
      assertion("a cell", { counter_example: { q: 3, k: 0 }, failing_cells: 2 }),
      assertion("an empty row", { counter_example: { q: 5, k: null } }),
      assertion("density", {}),
    ];
    render(<AssertionsView assertions={assertions} onPoint={onPoint} onGoTo={onGoTo} />);
    expect(screen.getByText("1 of 4 hold")).toBeTruthy();
    fireEvent.click(screen.getByRole("button", { name: /a cell does not hold/ }));
    fireEvent.click(screen.getByRole("button", { name: "Show query 5" }));
    expect(onPoint.mock.calls).toEqual([[{ q: 3, k: 0 }], [{ q: 5, k: null }]]);
    fireEvent.click(screen.getByRole("button", { name: /density does not hold/ }));
    fireEvent.click(screen.getByRole("button", { name: "Go to line 6" }));
    expect(onGoTo.mock.calls).toEqual([[{ start: 7, stop: 8 }], [{ start: 6, stop: 7 }]]);
  });
});

describe("the readout", () => {
  const mask = {
    hash: "x",
    statistics: { q_len: 9, kv_len: 9 },
    query_regions: [],
    key_regions: [],
  } as unknown as Mask;
  const rule = { line: 17, span: { start: 0, stop: 1 }, text: "H sees H causal", reason: null };
  const show = (explanation: Partial<CellExplanation>) => {
    const cell = { q: 1, k: 1, visible: true, q_region: "H", k_region: "H", q_token: null, k_token: null };
    const whole = { ...cell, rules: [], reason: null, ...explanation };
    const { container } = render(
      <MaskReadout
        mask={mask}
        regions={{ queries: [], keys: [] }}
        cursor={{ q: 1, k: 1 }}
        row={null}
        explanation={whole}
        spoken={0}
      />,
    );
    const text = (part: string) => container.querySelector(part)?.textContent;
    return { why: text(".mask-why"), cell: text(".cell-text") };
  };

  it("names every rule that shows a cell, or why none does", () => {
    const two = show({ rules: [rule, { ...rule, line: 18 }] });
    expect(two.why).toBe("line 17: H sees H causal; line 18: H sees H causal");
    const hidden = show({ visible: false, reason: "nearest rule, line 3, `A sees B`: no" });
    expect(hidden.why).toBe("nearest rule, line 3, A sees B: no");
  });

  it("names the token that is stored at a place, where it is another one", () => {
    expect(show({}).cell).toBe("query 1 – key 1");
    expect(show({ q_token: 13 }).cell).toBe("query 1 (token 13) – key 1");
  });
});

describe("documentation", () => {
  it("cannot bring markup into the page", () => {
    const { container } = render(<DocText text={"See `<b>` and <img src=x onerror=alert(1)>."} />);
    expect(container.querySelector("img, b")).toBeNull();
    expect(container.textContent).toBe("See <b> and <img src=x onerror=alert(1)>.");
  });
});
