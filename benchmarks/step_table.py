"""A training step whose lengths change every time: mask, forward and backward, beside FlexAttention with a compiled create_block_mask.

    python3 benchmarks/step_table.py --out benchmarks/results

In every step other random lengths of the same total (benchmarks/step_masks.py) come as a list or as tensors on the GPU. Each way
makes its mask of them and computes attention, forward or forward and backward:

    bound           MaskProgram.bind, and attention, which plans on the host
    device          DeviceMask.replan from the tensors on the GPU, and attention
    device_graph    the same captured once as a CUDA graph, and replayed
    flex            torch.compile(create_block_mask) and torch.compile(flex_attention), Triton back end
    flex_flash      the same, FLASH back end
    flex_graph      `flex` captured once as a CUDA graph, and replayed

Every way's output and gradients are compared with dense attention in float32 before it is timed. median_ms, p90_ms: wall time of
a step from a synchronised device to a synchronised device. row_ms: of a step among 50 without a wait between them. Each
case prepares in a process of its own, all at once; then they are timed one after the other.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch import Tensor

import compilemask
from benchmarks.conditions import conditions
from benchmarks.step_masks import STEP_FAMILIES, Lengths, dense
from compilemask.attention import DeviceMask, attention

TOTALS = (4096, 8192)
STEPS, WARM_STEPS, VERIFIED = 50, 10, 2
DIRECTIONS = ("forward", "forward+backward")
NUM_HEADS, HEAD_DIM = 16, 128
LARGEST_ERROR = 1e-2
SEED = 5
READY = "ready"
TARGETS = {
    ("hstu_jagged", "forward"): 1.44, ("shared_prompt", "forward"): 2.13,
    **{(family, "forward+backward"): 1.5 for family in STEP_FAMILIES},
}  # fmt: skip
PEERS = {"device": ("flex", "flex_flash"), "bound": ("flex", "flex_flash"), "device_graph": ("flex_graph",)}

Result = tuple[Tensor, ...]
"""o, or o, dq, dk, dv."""
FromTensors = Callable[[Lengths, bool], Result]
"""Lengths on the GPU, whether gradients are wanted."""
Step = Callable[[int, bool], Result]
"""Number of the step, whether gradients are wanted."""


class Case:
    """One family and total: the inputs, and every way to take a step."""

    def __init__(self, family: str, total: int, device: str) -> None:
        self.family, self.total = STEP_FAMILIES[family], total
        random = torch.Generator().manual_seed(SEED)
        # Both directions, each warmed up and timed twice, and what is verified: no step has the lengths of another.
        count = len(DIRECTIONS) * (WARM_STEPS + 2 * STEPS) + VERIFIED
        self.lengths = [self.family.lengths(total, random) for _ in range(count)]
        self.on_device = [{name: x.to(device) for name, x in each.items()} for each in self.lengths]
        self.token = torch.arange(total, device=device)
        shape = (1, NUM_HEADS, total, HEAD_DIM)
        *qkv, self.do = (torch.randn(shape, generator=random).to(device, torch.bfloat16) for _ in range(4))
        self.inputs = {False: qkv, True: [x.clone().requires_grad_() for x in qkv]}
        self._flex: dict[str | None, FromTensors] = {}

    def results(self, o: Tensor, backward: bool) -> Result:
        """o, and the gradients where they are wanted."""
        return (o, *torch.autograd.grad(o, self.inputs[True], self.do)) if backward else (o,)

    def ways(self) -> dict[str, Callable[[], Step]]:
        """What makes each way's step."""
        return {
            "bound": self.bound,
            "device": lambda: self.given(self.device()),
            "device_graph": lambda: self.captured(self.device()),
            "flex": lambda: self.given(self.flex(None)),
            "flex_flash": lambda: self.given(self.flex("FLASH")),
            "flex_graph": lambda: self.captured(self.flex(None)),
        }

    def bound(self) -> Step:
        """The way of that name: lengths come as lists, and the host binds and plans."""
        program = compilemask.compile(compilemask.preset_source(self.family.name))
        numbers = [{name: x.tolist() for name, x in each.items()} for each in self.lengths]

        def step(i: int, backward: bool) -> Result:
            mask = program.bind(**numbers[i])
            return self.results(attention(*self.inputs[backward], mask), backward)

        return step

    def device(self) -> FromTensors:
        """One DeviceMask, replanned in every step."""
        mask = DeviceMask.from_lengths(self.family.name, self.total, padded=False, **self.on_device[0])

        def step(lengths: Lengths, backward: bool) -> Result:
            mask.replan(**lengths)
            return self.results(attention(*self.inputs[backward], mask), backward)

        return step

    def flex(self, back_end: str | None) -> FromTensors:
        """The predicate reads tensors that every step overwrites, so that nothing is compiled again."""
        if back_end not in self._flex:
            self._flex[back_end] = self._flex_with(
                {} if back_end is None else {"kernel_options": {"BACKEND": back_end}}
            )
        return self._flex[back_end]

    def _flex_with(self, words: dict[str, Any]) -> FromTensors:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        numbers = tuple(x.clone() for x in self.family.numbers(self.on_device[0], self.token))
        predicate = self.family.predicate(numbers)

        def overwrite(lengths: Lengths) -> None:
            for own, new in zip(numbers, self.family.numbers(lengths, self.token), strict=True):
                own.copy_(new)

        compiled_numbers = torch.compile(overwrite, dynamic=False)
        block_mask_of = torch.compile(create_block_mask, dynamic=False)
        compiled = torch.compile(flex_attention, dynamic=False, fullgraph=True)

        def step(lengths: Lengths, backward: bool) -> Result:
            compiled_numbers(lengths)
            block_mask = block_mask_of(predicate, None, None, self.total, self.total, device=self.token.device)
            return self.results(compiled(*self.inputs[backward], block_mask=block_mask, **words), backward)

        return step

    def given(self, step: FromTensors) -> Step:
        """The step with the lengths of its number, from the GPU."""
        return lambda i, backward: step(self.on_device[i], backward)

    def captured(self, step: FromTensors) -> Step:
        """One graph for each direction, captured at the first step of it."""
        own = {name: x.clone() for name, x in self.on_device[0].items()}
        graphs: dict[bool, tuple[torch.cuda.CUDAGraph, Result]] = {}

        def replay(i: int, backward: bool) -> Result:
            if backward not in graphs:
                graphs[backward] = captured(lambda: step(own, backward))
            graph, found = graphs[backward]
            for name, x in own.items():
                x.copy_(self.on_device[i][name])
            graph.replay()
            return found

        return replay

    def wanted(self, i: int, backward: bool) -> Result:
        """Dense, float32, head by head."""
        visible = dense(self.family, self.lengths[i], self.token)
        found = []
        for head in range(NUM_HEADS):
            q, k, v = (x[0, head].float().detach().requires_grad_(backward) for x in self.inputs[False])
            weights = torch.softmax((q @ k.T * HEAD_DIM**-0.5).masked_fill(~visible, -torch.inf), -1)
            o = weights @ v
            grads = torch.autograd.grad(o, (q, k, v), self.do[0, head].float()) if backward else ()
            found.append((o.detach(), *grads))
        return tuple(torch.stack(parts)[None] for parts in zip(*found, strict=True))


def captured(work: Callable[[], Result]) -> tuple[torch.cuda.CUDAGraph, Result]:
    """A graph of the work, and the tensors that its replays write."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = work()
    return graph, found


def error(found: tuple[Tensor, ...], wanted: tuple[Tensor, ...]) -> float:
    """The largest relative difference of o, dq, dk, dv, each as a whole; NaN where one has a NaN."""
    parts = [float((x.detach().float() - y).norm() / y.norm()) for x, y in zip(found, wanted, strict=True)]
    return max(parts, key=lambda part: (part != part, part))


def prepared(case: Case, only: list[str]) -> tuple[dict[tuple[str, bool], Step], list[dict[str, object]]]:
    """The steps, by way and direction, that compute the right thing, in two steps each; and a row for each of the others."""
    steps: dict[tuple[str, bool], Step] = {}
    failed: list[dict[str, object]] = []
    numbers = range(len(case.lengths) - VERIFIED, len(case.lengths))
    for backward, direction in enumerate(DIRECTIONS):
        wanted = {i: case.wanted(i, bool(backward)) for i in numbers}
        for name, make in case.ways().items():
            if only and name not in only:
                continue
            try:
                step = make()
                worst = max((error(step(i, bool(backward)), wanted[i]) for i in numbers), key=lambda x: (x != x, x))
            except Exception as problem:  # one way that fails does not lose the others
                reason = f"{type(problem).__name__}: {str(problem).strip().partition(chr(10))[0]}"[:300]
                failed.append({"direction": direction, "way": name, "verdict": "error", "reason": reason})
                continue
            if worst <= LARGEST_ERROR:
                steps[name, bool(backward)] = step
            else:
                reason = f"relative error {worst:.3g}"
                failed.append({"direction": direction, "way": name, "verdict": "wrong", "reason": reason})
    return steps, failed


def times(step: Step, backward: bool) -> dict[str, object]:
    """Milliseconds of a step."""
    first = backward * (WARM_STEPS + 2 * STEPS)
    for i in range(first, first + WARM_STEPS):
        step(i, backward)
    first += WARM_STEPS
    found = []
    for i in range(first, first + STEPS):
        torch.cuda.synchronize()
        began = time.perf_counter()
        step(i, backward)
        torch.cuda.synchronize()
        found.append((time.perf_counter() - began) * 1e3)
    first += STEPS
    began = time.perf_counter()
    for i in range(first, first + STEPS):
        step(i, backward)
    torch.cuda.synchronize()
    return {
        "median_ms": statistics.median(found),
        "p90_ms": statistics.quantiles(found, n=10)[8],
        "row_ms": (time.perf_counter() - began) * 1e3 / STEPS,
        "verdict": "passed",
    }


def work_on(family: str, total: int, only: list[str]) -> None:
    """In a process of its own: prepare, say so, wait for a line, time, print the rows."""
    steps, failed = prepared(Case(family, total, "cuda"), only)
    print(READY, flush=True)
    sys.stdin.readline()
    same = {"family": family, "tokens": total}
    rows: list[dict[str, object]] = [same | row for row in failed]
    for (name, backward), step in steps.items():
        rows.append(same | {"direction": DIRECTIONS[backward], "way": name} | times(step, backward))
    print(json.dumps(rows), flush=True)


def ratios(rows: list[dict[str, Any]]) -> list[str]:
    """Our ways beside the better back end of FlexAttention, of steps that wait for each other."""
    found = {(r["family"], r["tokens"], r["direction"], r["way"]): r for r in rows if r["verdict"] == "passed"}
    lines = []
    for (family, total, direction, way), ours in found.items():
        peers = [found[key] for name in PEERS.get(way, ()) if (key := (family, total, direction, name)) in found]
        if not peers:
            continue
        peer = min(peers, key=lambda row: row["median_ms"])
        ratio, target = peer["median_ms"] / ours["median_ms"], TARGETS.get((family, direction))
        verdict = "" if target is None else f"  {'met' if ratio >= target else 'MISSED'}, wanted {target:g}"
        lines.append(
            f"{family:14}{total:6} {direction:17}{way:13}{ours['median_ms']:8.3f} ms  {peer['way']:11}{peer['median_ms']:8.3f} ms  {ratio:5.2f}{verdict}"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for step_table.json")
    parser.add_argument("--ways", default="", help="only these, with commas between them")
    parser.add_argument("--totals", type=int, nargs="+", default=list(TOTALS))
    parser.add_argument("--case", nargs=2, metavar=("FAMILY", "TOTAL"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    only = [name for name in arguments.ways.split(",") if name]
    if arguments.case:
        work_on(arguments.case[0], int(arguments.case[1]), only)
        return
    if arguments.out is None:
        parser.error("--out is missing: the folder for step_table.json")
    head = conditions(torch.device("cuda"))
    workers = {
        (family, total): subprocess.Popen(
            [sys.executable, __file__, "--case", family, str(total), "--ways", arguments.ways],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for total in arguments.totals for family in STEP_FAMILIES
    }  # fmt: skip
    for worker in workers.values():
        _line(worker)
    rows: list[dict[str, Any]] = []
    for worker in workers.values():
        assert worker.stdin is not None
        print(file=worker.stdin, flush=True)
        rows += json.loads(_line(worker))
    (arguments.out / "step_table.json").write_text(json.dumps({**head, "method": __doc__, "rows": rows}, indent=1))
    for row in rows:
        if row["verdict"] != "passed":
            print(row["family"], row["tokens"], row["direction"], row["way"], row["verdict"], row["reason"])
        else:
            print(
                f"{row['family']:14}{row['tokens']:6} {row['direction']:17}{row['way']:13}"
                f"median {row['median_ms']:8.3f}  90 % {row['p90_ms']:8.3f}  in a row {row['row_ms']:8.3f} ms"
            )
    print("\n".join(ratios(rows)))


def _line(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise SystemExit(f"a case ended early: {' '.join(map(str, worker.args))}")  # type: ignore[arg-type]
    return line


if __name__ == "__main__":
    main()
