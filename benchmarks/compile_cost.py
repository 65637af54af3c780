"""Time and memory of binding and planning a mask on one CPU core, beside torch's create_block_mask in the same process.

    python3 benchmarks/compile_cost.py --out results/

Milliseconds are the best of several calls. `bind` is new numbers for a checked program, `plan` the tiles of 128 x 128. Peak memory is
what Python and NumPy allocate at once during one bind and plan (tracemalloc). create_block_mask evaluates the predicate of the same mask on
q_len x kv_len cells and stops being measured where that table passes 512 MB; its blocks are compared with the tiles counted here.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

import compilemask
from benchmarks.conditions import conditions
from compilemask.plan import grid_counts

LENGTHS = [4096, 8192, 16384, 32768, 131072, 1 << 20, 1 << 22]
DENSE_LIMIT = 1 << 29
VALUES: dict[str, Callable[[int], dict[str, object]]] = {
    "causal": lambda n: {"n": n},
    "hstu": lambda n: {"context": 0, "history": n - n // 16, "targets": n // 16},
    "shared_prompt": lambda n: {"prompt": n // 4, "responses": [n // 16] * 12, "padding": 0},
    "documents": lambda n: {"lengths": [n // max(1, n // 350)] * max(1, n // 350)},
    "clear": lambda n: {"text": 512, "height": n // 256, "width": 256, "radius": 16},
    "llama4_chunked": lambda n: {"n": n, "chunk": 64},
}
Predicate = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def predicate(name: str, values: dict[str, Any]) -> Predicate:
    """What a user of create_block_mask would write for the mask."""
    if name in ("documents", "shared_prompt"):
        prompt = values.get("prompt", 0)
        lengths = torch.tensor([prompt, *values.get("responses", ()), *values.get("lengths", ())])
        owner = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
        return lambda _b, _h, q, k: (q >= k) & ((k < prompt) | (owner[q] == owner[k]))
    if name == "hstu":
        seen = values["context"] + values["history"]  # there is no context here, so all of it is causal
        return lambda _b, _h, q, k: (q >= k) & ((k < seen) | (q == k))
    if name == "llama4_chunked":
        return lambda _b, _h, q, k: (q >= k) & (q // values["chunk"] == k // values["chunk"])
    if name == "clear":
        text, width, radius = values["text"], values["width"], values["radius"]

        def near(_b: torch.Tensor, _h: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
            dy, dx = (q - text) // width - (k - text) // width, (q - text) % width - (k - text) % width
            return (q < text) | (k < text) | (dy * dy + dx * dx < radius * radius)

        return near
    return lambda _b, _h, q, k: q >= k


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for compile_cost.json")
    parser.add_argument("--longest", type=int, default=LENGTHS[-1], help="tokens of the longest masks (all)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = [
        _row(name, length)
        for name in VALUES
        for length in LENGTHS
        if length <= arguments.longest and (name != "clear" or length <= 131072)
    ]
    result = {**conditions(torch.device("cpu")), "rows": rows}
    (arguments.out / "compile_cost.json").write_text(json.dumps(result, indent=1))
    return 0


def _row(name: str, length: int) -> dict[str, object]:
    program = compilemask.compile(compilemask.preset_source(name))
    values = VALUES[name](length)
    mask = program.bind(**values)
    assert isinstance(mask, compilemask.MaskDescriptor)
    bind_ms = _best(lambda: program.bind(**values))
    plan_ms = _best(lambda: compilemask.plan_tiles(mask, 128, 128))
    tracemalloc.start()
    compilemask.plan_tiles(program.bind(**values), 128, 128)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    row: dict[str, object] = {
        "mask": name, "q_len": mask.q_len, "runs": mask.num_runs, "families": mask.num_families,
        "bind_ms": bind_ms, "plan_ms": plan_ms, "peak_bytes": peak, "create_block_mask_ms": None,
    }  # fmt: skip
    if mask.q_len * mask.kv_len <= DENSE_LIMIT:
        seen = predicate(name, values)
        _check_same(mask, create_block_mask(seen, None, None, mask.q_len, mask.kv_len, device="cpu"))
        row["create_block_mask_ms"] = _best(
            lambda: create_block_mask(seen, None, None, mask.q_len, mask.kv_len, device="cpu"), 3
        )
    numbers = " ".join(f"{key}={value:.2f}" for key, value in row.items() if isinstance(value, float))
    print(f"{name:14} {mask.q_len:8} runs={mask.num_runs} peak={peak / 1e6:.1f} MB {numbers}", flush=True)
    return row


def _check_same(mask: compilemask.MaskDescriptor, blocks: BlockMask) -> None:
    """The same blocks are visited; full ones may be told apart otherwise where they hang over the edge of the mask."""
    counts = grid_counts(mask, 128, 128)
    full = 0 if blocks.full_kv_num_blocks is None else int(blocks.full_kv_num_blocks.sum())
    visited = full + int(blocks.kv_num_blocks.sum())
    if visited != counts.full + counts.partial:
        raise AssertionError(f"create_block_mask visits {visited} blocks, the mask has {counts}")


def _best(call: Callable[[], object], repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times) * 1e3


if __name__ == "__main__":
    sys.exit(main())
