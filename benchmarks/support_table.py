"""Which head dimensions, dtypes and directions each implementation computes rightly: found by running them all.

    python benchmarks/support_table.py            # on the CPU; the Triton kernels in their interpreter
    python benchmarks/support_table.py --device cuda

Each run writes its rows to benchmarks/results/support_<device>.json, and docs/support.md from the rows of all devices.
A size counts as supported when o, lse and all gradients err at most twice as much as dense attention in the same dtype, plus one
ulp, against float64; the dense gradients are those of autograd. The case is packed documents that end inside tiles, with keys
that no query sees holding NaN, and grouped heads.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch import Tensor

from benchmarks.conditions import conditions
from compilemask import MaskDescriptor, compile, preset_source
from compilemask.attention import attention

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DOCUMENT = ROOT / "docs" / "support.md"
DIMS = ((8, 8), (16, 16), (32, 32), (48, 48), (64, 64), (72, 72), (80, 80), (96, 96), (128, 128), (160, 160), (192, 192), (256, 256), (320, 320), (16, 24), (64, 128), (192, 128))  # fmt: skip
DTYPES = ("bfloat16", "float16", "float32")
IMPLS = ("reference", "torch", "triton")
DRAWS = {"bfloat16": 1, "float16": 1, "float32": 3}
"""Draws of inputs: float32's few last bits are luck in one."""
LENGTHS, PADDING, NUM_Q_HEADS, NUM_KV_HEADS = [37, 1, 22], 5, 4, 2

HEAD = f"""\
# What is supported

Made by running every combination (`python benchmarks/support_table.py`), here with {NUM_Q_HEADS} query heads over {NUM_KV_HEADS} key heads, packed documents
of {", ".join(map(str, LENGTHS))} tokens and {PADDING} of padding that holds NaN. `yes`: forward (o, lse) and gradients (dq, dk, dv) err at most twice as much as dense attention in
the same dtype, plus one ulp, against float64, each the largest of {DRAWS["bfloat16"]} draw of inputs in half precision and of {DRAWS["float32"]} in float32. `forward`: the forward alone does. `no`: the call is refused, in the words under the table. A wrong result
would read `WRONG`. Head dimensions are those of q and k / v. Any head_dim from 1 up to the largest of a column behaves as the next one listed.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """verdict: yes, forward, no or WRONG; reason: of a refusal or of what is wrong, else empty."""

    impl: str
    dtype: str
    head_dim: int
    v_head_dim: int
    verdict: str
    reason: str


def documents() -> MaskDescriptor:
    mask = compile(preset_source("documents")).bind(lengths=LENGTHS)
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


def quantities(run: object, qkv: list[Tensor], do: Tensor, *, backward: bool) -> dict[str, Tensor]:
    """o and lse by name, and the gradients of q, k and v where asked for."""
    leaves = [x.clone().requires_grad_(backward) for x in qkv]
    o, lse = run(*leaves)  # type: ignore[operator]
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


def attempt(impl: str, dtype: str, head_dim: int, v_head_dim: int, device: str, *, backward: bool) -> str:
    """Empty when every quantity obeys the rule over all draws, else the first that does not. Refusals are raised."""
    mask = documents()
    visible = torch.from_numpy(mask.dense()).to(device)
    own = getattr(torch, dtype)
    worst: Errors = {}
    for draw in range(DRAWS[dtype]):
        *qkv, do = inputs(head_dim, v_head_dim, own, device, mask.q_len, draw)
        run = lambda *x: attention(*x, mask, impl=impl, return_lse=True)  # type: ignore[call-overload]  # noqa: E731
        found = quantities(run, qkv, do, backward=backward)
        exact = quantities(lambda *x: dense(*x, visible), [x.double() for x in qkv], do.double(), backward=backward)
        plain = quantities(lambda *x: dense(*x, visible), qkv, do, backward=backward)
        for name, (error, allowed) in errors(found, plain, exact, own).items():
            before = worst.get(name, (0.0, 0.0))
            worst[name] = (max(before[0], error), max(before[1], allowed))
    wrong = (
        f"{name} errs by {e:.2g}, {allowed:.2g} is allowed" for name, (e, allowed) in worst.items() if not e <= allowed
    )
    return next(wrong, "")


def verdict(impl: str, dtype: str, head_dim: int, v_head_dim: int, device: str) -> tuple[str, str]:
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


def impls_on(device: str) -> tuple[str, ...]:
    """The implementations that there are columns for; of "hopper" only on a device that it is built for."""
    if device == "cuda" and torch.cuda.get_device_capability() == (9, 0):
        return (*IMPLS, "hopper")
    return IMPLS


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
        found = [cell[impl, dtype, head_dim, v_head_dim].verdict for impl, dtype in columns]
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
    DOCUMENT.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dtype", choices=DTYPES, help="run again only this one, and keep the other rows")
    arguments = parser.parse_args()
    device = arguments.device
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = (
            "1"  # read when triton is first imported, which is when a kernel is first asked for
        )
    path = RESULTS / f"support_{device}.json"
    kept = json.loads(path.read_text(encoding="utf-8"))["rows"] if arguments.dtype else []
    rows = []
    for impl in impls_on(device):
        for dtype in DTYPES:
            if arguments.dtype not in (None, dtype):
                rows += [Row(**row) for row in kept if (row["impl"], row["dtype"]) == (impl, dtype)]
                continue
            for dims in DIMS:
                rows.append(Row(impl, dtype, *dims, *verdict(impl, dtype, *dims, device)))
                print(*asdict(rows[-1]).values(), flush=True)
    title = torch.cuda.get_device_name() if device == "cuda" else "CPU, the Triton kernels in their interpreter"
    record = {"title": title, **conditions(torch.device(device)), "rows": [asdict(row) for row in rows]}
    if arguments.dtype:
        # the kept rows are of the whole run
        record["command"] = f"python3 benchmarks/support_table.py --device {device}"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    write_document()
    if any(row.verdict == "WRONG" for row in rows):
        sys.exit("some results are wrong; see docs/support.md")


if __name__ == "__main__":
    main()
