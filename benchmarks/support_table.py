"""Which head dimensions, dtypes and directions each implementation computes rightly: found by running them all.

    python benchmarks/support_table.py            # on the CPU; the Triton kernels in their interpreter
    python benchmarks/support_table.py --device cuda

Each run writes its rows to benchmarks/results/support_<device>.json, and docs/support.md from the rows of all devices.
A size counts as supported when o, lse and all gradients err at most twice as much as dense attention in the same dtype, plus one
ulp, against float64 (dense attention whose weights come from lse, as a backward has them): for packed documents that end inside tiles, with keys that no query sees holding NaN, and grouped heads.
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
LENGTHS, PADDING, NUM_Q_HEADS, NUM_KV_HEADS = [37, 1, 22], 5, 4, 2

HEAD = f"""\
# What is supported

Made by running every combination (`python benchmarks/support_table.py`), here with {NUM_Q_HEADS} query heads over {NUM_KV_HEADS} key heads, packed documents
of {", ".join(map(str, LENGTHS))} tokens and {PADDING} of padding that holds NaN. `yes`: forward (o, lse) and gradients (dq, dk, dv) err at most twice as much as dense attention in
the same dtype, plus one ulp, against float64. `forward`: the forward alone does. `no`: the call is refused, in the words under the table. A wrong result
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


def inputs(head_dim: int, v_head_dim: int, dtype: torch.dtype, device: str, length: int) -> list[Tensor]:
    """q, k, v and the gradient of o; the padding of k and v holds NaN."""
    generator = torch.Generator().manual_seed(head_dim * 1000 + v_head_dim)
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
    lse = torch.logsumexp(scores, -1)
    # a backward has exp(score - lse) of a float32 lse, whose rounding shows in float32 and in nothing narrower
    weights = torch.exp(scores - lse[..., None]) if q.dtype == torch.float32 else torch.softmax(scores, -1)
    return weights.masked_fill(~some[:, None], 0.0) @ v, lse.masked_fill(~some, -math.inf)


def quantities(run: object, qkv: list[Tensor], do: Tensor, *, backward: bool) -> dict[str, Tensor]:
    """o and lse by name, and the gradients of q, k and v where asked for."""
    leaves = [x.clone().requires_grad_(backward) for x in qkv]
    o, lse = run(*leaves)  # type: ignore[operator]
    found = {"o": o.detach(), "lse": lse.detach()}
    if backward:
        found |= dict(zip(("dq", "dk", "dv"), torch.autograd.grad((o * do.to(o.dtype)).sum(), leaves), strict=True))
    return found


def judge(found: dict[str, Tensor], plain: dict[str, Tensor], exact: dict[str, Tensor], dtype: torch.dtype) -> str:
    """Empty when every quantity obeys the rule, else the first that does not."""
    for name, value in found.items():
        wanted = exact[name].cpu()
        finite = wanted.isfinite()
        # lse is float32 whatever the inputs are
        eps = torch.finfo(torch.float32 if name == "lse" else dtype).eps
        largest = wanted[finite].abs().max().item()
        ulp = eps * 2.0 ** math.floor(math.log2(largest)) if largest else 0.0
        allowed = 2 * (plain[name].double().cpu() - wanted)[finite].abs().max().item() + ulp
        error = (value.double().cpu() - wanted)[finite].abs().max().item()
        if not error <= allowed or not torch.equal(value.double().cpu()[~finite], wanted[~finite]):
            return f"{name} errs by {error:.2g}, {allowed:.2g} is allowed"
    return ""


def verdict(impl: str, dtype: torch.dtype, head_dim: int, v_head_dim: int, device: str) -> tuple[str, str]:
    """(verdict, reason) of one combination."""
    mask = documents()
    *qkv, do = inputs(head_dim, v_head_dim, dtype, device, mask.q_len)
    visible = torch.from_numpy(mask.dense()).to(device)
    doubles, do64 = [x.double() for x in qkv], do.double()
    exact = quantities(lambda *x: dense(*x, visible), doubles, do64, backward=True)
    plain = quantities(lambda *x: dense(*x, visible), qkv, do, backward=True)
    refusal = ""
    for backward, right in ((True, "yes"), (False, "forward")):
        try:
            found = quantities(
                lambda *x: attention(*x, mask, impl=impl, return_lse=True),
                qkv,
                do,
                backward=backward,  # type: ignore[call-overload]
            )
        except (ValueError, NotImplementedError) as problem:
            refusal = refusal or str(problem)
            continue
        wrong = judge(found, plain, exact, dtype)
        return ("WRONG", wrong) if wrong else (right, refusal)
    return "no", refusal


def table(rows: list[Row], record: dict[str, object]) -> list[str]:
    """The lines of one device's table, and the reasons of its refusals."""
    columns = [(impl, dtype) for impl in IMPLS for dtype in DTYPES]
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
    device = parser.parse_args().device
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = (
            "1"  # read when triton is first imported, which is when a kernel is first asked for
        )
    rows = []
    for impl in IMPLS:
        for dtype in DTYPES:
            for dims in DIMS:
                rows.append(Row(impl, dtype, *dims, *verdict(impl, getattr(torch, dtype), *dims, device)))
                print(*asdict(rows[-1]).values(), flush=True)
    title = torch.cuda.get_device_name() if device == "cuda" else "CPU, the Triton kernels in their interpreter"
    record = {"title": title, **conditions(torch.device(device)), "rows": [asdict(row) for row in rows]}
    RESULTS.joinpath(f"support_{device}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    write_document()
    if any(row.verdict == "WRONG" for row in rows):
        sys.exit("some results are wrong; see docs/support.md")


if __name__ == "__main__":
    main()
