"""Time to plan a mask anew from lengths that are on the GPU, beside torch's compiled create_block_mask in the same process.

    python3 benchmarks/replan.py --out benchmarks/results --time-limit 60

Replanning rewrites the tiles of one forward (queries) and of one backward (queries, keys). create_block_mask, compiled for the length, makes a
BlockMask, which has both directions, from document numbers that are on the GPU already. Both are timed as calls and as replayed CUDA graphs, medians in
milliseconds; nothing is read back. A ratio is create_block_mask's time over ours. Before it is timed each replanned mask is compared with the mask bound on the
host. Rows are written as they come, all families at 32,768 tokens first.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask

import compilemask
from benchmarks.conditions import conditions
from compilemask.attention import DeviceMask
from compilemask.bench.measure import measure
from compilemask.bench.protocol import MeasureOptions
from compilemask.bench.rows import now, write_rows

LENGTHS = (32768, 8192, 131072)
TILINGS = ((128, 64, False), (128, 64, True))
Predicate = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def cases(total: int, device: str) -> dict[str, tuple[dict[str, Tensor], dict[str, object], Predicate]]:
    """For each family its lengths, the same for the preset, and what a user of create_block_mask would write."""
    documents = torch.full((max(1, total // 2048),), total // max(1, total // 2048))
    prompt, responses = torch.tensor(total // 4), torch.full((12,), total // 16)
    users = max(1, total // 512) if total < 4096 else total // 4096
    user = total // users
    context, targets = torch.full((users,), 16), torch.full((users,), user // 4)
    history = user - context - targets

    def owner(lengths: Tensor) -> Tensor:
        return torch.repeat_interleave(torch.arange(len(lengths)), lengths).to(device)

    of_document, of_part = owner(documents), owner(torch.cat([prompt[None], responses]))
    first, last = int(context[0]), int(context[0] + history[0])

    def hstu(_b: Tensor, _h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        at, of = q % user, k % user
        seen = (of <= at) | ((at < first) & (of < last))
        return (q // user == k // user) & ((of < last) & seen | (q == k))

    def on_device(**lengths: Tensor) -> dict[str, Tensor]:
        return {name: value.to(device) for name, value in lengths.items()}

    return {
        "causal": (on_device(length=torch.tensor(total)), {"n": total}, lambda _b, _h, q, k: q >= k),
        "documents": (
            on_device(lengths=documents),
            {"lengths": documents.tolist()},
            lambda _b, _h, q, k: (q >= k) & (of_document[q] == of_document[k]),
        ),
        "shared_prompt": (
            on_device(prompt=prompt, responses=responses),
            {"prompt": int(prompt), "responses": responses.tolist()},
            lambda _b, _h, q, k: (q >= k) & ((of_part[k] == 0) | (of_part[q] == of_part[k])),
        ),
        "hstu_jagged": (
            on_device(context=context, history=history, targets=targets),
            {"context": context.tolist(), "history": history.tolist(), "targets": targets.tolist()},
            hstu,
        ),
    }


def median_ms(work: Callable[[], object], *, graph: bool = False) -> float:
    """The median time of a call on the device, or, graph, of its replay; ValueError when it cannot be captured."""
    options = MeasureOptions(min_samples=20, target_seconds=0.2, warmup_seconds=0.5, cuda_graph=graph)
    return measure(lambda: work, torch.device("cuda"), options).median_ms


def verified(family: str, total: int, device: str) -> tuple[DeviceMask, dict[str, Tensor], Predicate]:
    """The mask with its tiles made, its lengths and the predicate; raises RuntimeError when cells or the predicate differ."""
    lengths, numbers, predicate = cases(total, device)[family]
    bound = compilemask.compile(compilemask.preset_source(family)).bind(**numbers)
    assert isinstance(bound, compilemask.MaskDescriptor)
    mask = DeviceMask.from_lengths(family, total, padded=False, **lengths)
    for block_m, block_n, transposed in TILINGS:
        mask.tiles(block_m, block_n, transposed=transposed)
    mask.replan(**lengths)
    rows = torch.arange(0, total, max(1, total // 64), device=device)
    none = torch.zeros((), device=device, dtype=torch.int64)
    sampled = predicate(none, none, rows[:, None], torch.arange(total, device=device)[None])
    indptr, lo, hi = bound.row_intervals()
    sizes = torch.zeros(total, dtype=torch.int64).index_add_(
        0, torch.repeat_interleave(torch.arange(total), torch.from_numpy(indptr).diff()), torch.from_numpy(hi - lo)
    )
    if mask.descriptor() != bound or not torch.equal(sampled.sum(1).cpu(), sizes[rows.cpu()]):
        raise RuntimeError(f"{family} at {total} tokens: the masks that should be compared are not the same")
    return mask, lengths, predicate


def row(family: str, total: int) -> dict[str, object]:
    """Times of one family at one length."""
    mask, lengths, predicate = verified(family, total, "cuda")

    def replan() -> None:
        mask.replan(**lengths)

    compiled = torch.compile(create_block_mask, dynamic=False)

    def block_mask() -> object:
        return compiled(predicate, None, None, total, total, device="cuda")

    ours, ours_graph, theirs = median_ms(replan), median_ms(replan, graph=True), median_ms(block_mask)
    try:
        theirs_graph, reason = median_ms(block_mask, graph=True), None
    except ValueError as found:
        theirs_graph, reason = None, str(found)
    return {
        "family": family,
        "tokens": total,
        "replan_ms": ours,
        "replan_graph_ms": ours_graph,
        "create_block_mask_ms": theirs,
        "create_block_mask_graph_ms": theirs_graph,
        "not_captured": reason,
        "ratio": theirs / ours,
        "graph_ratio": None if theirs_graph is None else theirs_graph / ours_graph,
        "run": now(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for replan.json")
    parser.add_argument("--check", action="store_true", help="compare the masks only, at 1,024 tokens; needs no GPU")
    parser.add_argument("--time-limit", type=float, default=86_400.0, help="seconds after which no row is begun")
    arguments = parser.parse_args()
    families = list(cases(1024, "cpu"))
    if arguments.check:
        for family in families:
            verified(family, 1024, "cpu")
        print("the masks agree")
        return 0
    began = time.monotonic()
    head = conditions(torch.device("cuda"))
    rows: list[dict[str, object]] = []
    for total, family in itertools.product(LENGTHS, families):
        if time.monotonic() - began > arguments.time_limit:
            print(f"the time was up: {len(rows)} of {len(LENGTHS) * len(families)} rows")
            return 3
        rows.append(row(family, total))
        print(f"{time.monotonic() - began:.0f} s: {rows[-1]}", flush=True)
        write_rows(arguments.out / "replan.json", head, rows)
        torch.compiler.reset()
    return 0


if __name__ == "__main__":
    sys.exit(main())
