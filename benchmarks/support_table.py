"""Which head dimensions, dtypes and directions each implementation computes rightly: found by running them all.

    python3 benchmarks/support_table.py           # on the CPU; the Triton kernels in their interpreter
    python3 benchmarks/support_table.py --device cuda --jobs 16 --time-limit 150
    python3 benchmarks/support_table.py --page    # docs/support.md from the rows that there are

Combinations are dealt to several processes, since compiling is most of the work. Rows are written as they come, to
support_<device>.json; --resume goes on with those that are missing, where the time was up or a process broke. Without --out docs/support.md is
made of the rows of all devices. Exit code 0 when all rows are there and right, 1 when some are wrong, 3 when some are missing.
A size counts as supported when o, lse and all gradients err at most twice as much as dense attention in the same dtype, plus one
ulp, against float64; the dense gradients are those of autograd. The case is packed documents that end inside tiles, with keys
that no query sees holding NaN, and grouped heads.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import multiprocessing
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch import Tensor

from benchmarks.conditions import conditions
from benchmarks.processes import Broken, outcomes
from benchmarks.sanitizer import checker_lines
from compilemask import MaskDescriptor, compile, preset_source
from compilemask.attention import Impl, attention
from compilemask.bench.rows import write_rows

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DOCUMENT = ROOT / "docs" / "support.md"
DIMS = ((8, 8), (16, 16), (32, 32), (48, 48), (64, 64), (72, 72), (80, 80), (96, 96), (128, 128), (160, 160), (192, 192), (256, 256), (320, 320), (16, 24), (64, 128), (192, 128))  # fmt: skip
DTYPES = ("bfloat16", "float16", "float32")
IMPLS: tuple[Impl, ...] = ("reference", "torch", "triton")
INCOMPLETE = 3
Task = tuple[str, Impl, str, tuple[int, int]]
"""Device, implementation, dtype, (head_dim, v_head_dim)."""
DRAWS = {"bfloat16": 1, "float16": 1, "float32": 3}
"""Draws of inputs: float32's few last bits are luck in one."""
LENGTHS, PADDING, NUM_Q_HEADS, NUM_KV_HEADS = [37, 1, 22], 5, 4, 2

HEAD = f"""\
# What is supported

Made by running every combination (`python3 benchmarks/support_table.py`), here with {NUM_Q_HEADS} query heads over {NUM_KV_HEADS} key heads, packed documents
of {", ".join(map(str, LENGTHS))} tokens and {PADDING} of padding that holds NaN. `yes`: forward (o, lse) and gradients (dq, dk, dv) err at most twice as much as dense attention in
the same dtype, plus one ulp, against float64, each the largest of {DRAWS["bfloat16"]} draw of inputs in half precision and of {DRAWS["float32"]} in float32. `forward`: the forward alone does. `no`: the call is refused, in the words under the table. A wrong result
would read `WRONG`. Head dimensions are those of q and k / v. For `reference`, `torch` and `triton` any head_dim behaves as the next one listed; `hopper` takes
multiples of 8 only, and `yes, by triton` says that the forward is its own and the gradients are those of `triton`.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """verdict: yes, forward, no or WRONG; reason: of a refusal or of what is wrong, else empty.

    gradients: the implementation whose kernels made them where it is another one, else empty.
    """

    impl: Impl
    dtype: str
    head_dim: int
    v_head_dim: int
    verdict: str
    reason: str
    gradients: str = ""

    @property
    def words(self) -> str:
        """The cell of the table."""
        return f"{self.verdict}, by {self.gradients}" if self.verdict == "yes" and self.gradients else self.verdict


def documents() -> MaskDescriptor:
    """Packed documents of LENGTHS and PADDING tokens behind them."""
    mask = compile(preset_source("documents")).bind(lengths=LENGTHS)
    assert isinstance(mask, MaskDescriptor)
    total = mask.q_len + PADDING
    return mask.pad_to(total, total)


def inputs(head_dim: int, v_head_dim: int, dtype: torch.dtype, device: str, length: int, draw: int) -> list[Tensor]:
    """q, k, v and the gradient of o; the padding of k and v holds NaN."""
    generator = torch.Generator().manual_seed((head_dim * 1000 + v_head_dim) * 10 + draw)
    shapes = ((NUM_Q_HEADS, head_dim), (NUM_KV_HEADS, head_dim), (NUM_KV_HEADS, v_head_dim), (NUM_Q_HEADS, v_head_dim))
    made = [torch.randn(1, heads, length, dim, generator=generator).to(dtype).to(device) for heads, dim in shapes]
    for keys in made[1:3]:
        keys[:, :, length - PADDING :] = math.nan
    return made


def dense(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
    """(o, lse) with plain operations in the inputs' dtype; NaN of hidden keys is replaced, empty rows are 0 and -inf."""
    group = q.shape[1] // k.shape[1]
    seen, some = visible.any(0)[:, None], visible.any(1)
    k, v = (torch.where(seen, x, 0).repeat_interleave(group, 1) for x in (k, v))
    scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~visible & some[:, None], -math.inf)
    weights = torch.softmax(scores, -1).masked_fill(~some[:, None], 0.0)
    return weights @ v, torch.logsumexp(scores, -1).masked_fill(~some, -math.inf)


Attention = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""(q, k, v) -> (o, lse)."""


def quantities(run: Attention, qkv: list[Tensor], do: Tensor, *, backward: bool) -> dict[str, Tensor]:
    """o and lse by name, and the gradients of q, k and v where asked for."""
    leaves = [x.clone().requires_grad_(backward) for x in qkv]
    o, lse = run(leaves[0], leaves[1], leaves[2])
    found = {"o": o.detach(), "lse": lse.detach()}
    if backward:
        found |= dict(zip(("dq", "dk", "dv"), torch.autograd.grad((o * do.to(o.dtype)).sum(), leaves), strict=True))
    return found


Errors = dict[str, tuple[float, float]]
"""For each quantity the largest error, and the largest that is allowed."""


def errors(found: dict[str, Tensor], plain: dict[str, Tensor], exact: dict[str, Tensor], dtype: torch.dtype) -> Errors:
    """Of every quantity found; infinite where it is not finite although it should be, or the other way round."""
    result = {}
    for name, value in found.items():
        wanted, value = exact[name].cpu(), value.double().cpu()
        finite = wanted.isfinite()
        # lse is float32 whatever the inputs are
        eps = torch.finfo(torch.float32 if name == "lse" else dtype).eps
        largest = wanted[finite].abs().max().item()
        ulp = eps * 2.0 ** math.floor(math.log2(largest)) if largest else 0.0
        allowed = 2 * (plain[name].double().cpu() - wanted)[finite].abs().max().item() + ulp
        error = (value - wanted)[finite].abs().max().item()
        right = math.isfinite(error) and torch.equal(value[~finite], wanted[~finite])
        result[name] = (error if right else math.inf, allowed)
    return result


def attempt(impl: Impl, dtype: str, head_dim: int, v_head_dim: int, device: str, *, backward: bool) -> str:
    """Empty when every quantity obeys the rule over all draws, else the first that does not. Refusals are raised."""
    mask = documents()
    visible = torch.from_numpy(mask.dense()).to(device)
    own = getattr(torch, dtype)

    def ours(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return attention(q, k, v, mask, impl=impl, return_lse=True)

    worst: Errors = {}
    for draw in range(DRAWS[dtype]):
        *qkv, do = inputs(head_dim, v_head_dim, own, device, mask.q_len, draw)
        plainly = functools.partial(dense, visible=visible)
        found = quantities(ours, qkv, do, backward=backward)
        exact = quantities(plainly, [x.double() for x in qkv], do.double(), backward=backward)
        plain = quantities(plainly, qkv, do, backward=backward)
        for name, (error, allowed) in errors(found, plain, exact, own).items():
            before = worst.get(name, (0.0, 0.0))
            worst[name] = (max(before[0], error), max(before[1], allowed))
    wrong = (
        f"{name} errs by {e:.2g}, {allowed:.2g} is allowed" for name, (e, allowed) in worst.items() if not e <= allowed
    )
    return next(wrong, "")


def verdict(impl: Impl, dtype: str, head_dim: int, v_head_dim: int, device: str) -> tuple[str, str]:
    """(verdict, reason) of one combination."""
    refusal = ""
    for backward, right in ((True, "yes"), (False, "forward")):
        try:
            wrong = attempt(impl, dtype, head_dim, v_head_dim, device, backward=backward)
        except (ValueError, NotImplementedError) as problem:
            refusal = refusal or str(problem)
            continue
        return ("WRONG", wrong) if wrong else (right, refusal)
    return "no", refusal


def row_of(task: Task) -> Row:
    """The row of one combination."""
    device, impl, dtype, dims = task
    if device == "cpu" and multiprocessing.parent_process() is not None:
        # The processes share the cores.
        torch.set_num_threads(1)
    return Row(impl, dtype, *dims, *verdict(impl, dtype, *dims, device), _gradients_by(impl, dims))


def _gradients_by(impl: str, dims: tuple[int, int]) -> str:
    if impl != "hopper":
        return ""
    from compilemask.attention.hopper.backward_configs import takes_dims

    return "" if takes_dims(*dims) else "triton"


def impls_on(device: str) -> tuple[Impl, ...]:
    """The implementations that there are columns for; of "hopper" only on a device that it is built for."""
    if device == "cuda" and torch.cuda.get_device_capability() == (9, 0):
        return (*IMPLS, "hopper")
    return IMPLS


def tasks_on(device: str) -> list[Task]:
    """Every combination, those that take longest first, so that none of them ends the run alone."""
    found = [(device, impl, dtype, dims) for impl in impls_on(device) for dtype in DTYPES for dims in DIMS]
    return sorted(found, key=lambda task: (task[1] in ("reference", "torch"), -max(task[3])))


def table(rows: list[Row], record: dict[str, object]) -> list[str]:
    """The lines of one device's table, and the reasons of its refusals."""
    columns = [(impl, dtype) for impl in dict.fromkeys(row.impl for row in rows) for dtype in DTYPES]
    cell = {(row.impl, row.dtype, row.head_dim, row.v_head_dim): row for row in rows}
    environment = record["environment"]
    assert isinstance(environment, dict)
    versions = ", ".join(f"{name} {environment[name]}" for name in ("torch", "triton") if environment.get(name))
    lines = [
        f"## {record['title']}",
        "",
        f"{versions}, {str(record['date'])[:10]}: `{record['command']}`",
        "",
        "| head_dim | " + " | ".join(f"{impl} {dtype}" for impl, dtype in columns) + " |",
        "| --- |" + " --- |" * len(columns),
    ]
    for head_dim, v_head_dim in DIMS:
        name = str(head_dim) if head_dim == v_head_dim else f"{head_dim} / {v_head_dim}"
        rows_of_line = [cell.get((impl, dtype, head_dim, v_head_dim)) for impl, dtype in columns]
        found = ["not run" if row is None else row.words for row in rows_of_line]
        lines.append(f"| {name} | " + " | ".join(found) + " |")
    reasons = dict.fromkeys(row.reason for row in rows if row.reason)
    return [*lines, "", *(f"- {reason}" for reason in reasons), ""]


def write_document() -> None:
    """docs/support.md from the rows of all devices."""
    lines = [HEAD]
    for path in sorted(RESULTS.glob("support_*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        lines += table([Row(**row) for row in record["rows"]], record)
    if not (RESULTS / "support_cuda.json").exists():
        lines += [
            "The columns of a GPU are made by the same command with `--device cuda`; they have not been run yet.",
            "",
        ]
    lines += checker_lines(RESULTS)
    DOCUMENT.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.page:
        write_document()
        return 0
    device = arguments.device
    if device == "cpu":
        # Read when triton is first imported, which is when a kernel is first asked for.
        os.environ["TRITON_INTERPRET"] = "1"
    out = arguments.out or RESULTS
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"support_{device}.json"
    rows = _kept(path, arguments)
    left = [task for task in tasks_on(device) if task[1:] not in rows]
    order = [(impl, dtype, dims) for impl in impls_on(device) for dtype in DTYPES for dims in DIMS]
    head = _head(device)
    for task, outcome in outcomes(row_of, left, arguments.jobs, seconds=arguments.time_limit):
        if isinstance(outcome, Broken):
            print(*task[1:], outcome.reason, flush=True)
            continue
        rows[task[1:]] = outcome
        print(*asdict(outcome).values(), flush=True)
        write_rows(path, head, [asdict(rows[key]) for key in order if key in rows])
    if arguments.out is None:
        write_document()
    wrong = sum(row.verdict == "WRONG" for row in rows.values())
    print(f"{len(rows)} of {len(order)} rows, {wrong} of them wrong")
    return 1 if wrong else INCOMPLETE if len(rows) < len(order) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", type=Path, help="folder for the rows, in place of benchmarks/results and the page")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that run at once")
    parser.add_argument("--time-limit", type=float, default=math.inf, help="seconds for all")
    parser.add_argument("--resume", action="store_true", help="keep the rows that are there")
    parser.add_argument("--dtype", choices=DTYPES, help="keep the rows of the others")
    parser.add_argument("--page", action="store_true", help="only write docs/support.md")
    return parser


def _kept(path: Path, arguments: argparse.Namespace) -> dict[tuple[Impl, str, tuple[int, int]], Row]:
    if not path.is_file() or not (arguments.resume or arguments.dtype):
        return {}
    earlier = [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]]
    return {
        (row.impl, row.dtype, (row.head_dim, row.v_head_dim)): row for row in earlier if row.dtype != arguments.dtype
    }


def _head(device: str) -> dict[str, object]:
    """What the file says before its rows; the command is that of the whole run, whatever this one kept."""
    title = torch.cuda.get_device_name() if device == "cuda" else "CPU, the Triton kernels in their interpreter"
    command = f"python3 benchmarks/support_table.py --device {device}"
    return {"title": title, **conditions(torch.device(device)), "command": command}


if __name__ == "__main__":
    sys.exit(main())
