"""What the chip reaches in one large matrix product: the roof over the rates of attention, and a sign of whether a case had the chip to itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from compilemask.bench.measure import measure
from compilemask.bench.protocol import MeasureOptions
from compilemask.bench.rows import Row

SIZE = 8192
_CPU_SIZE = 1024
_DTYPE = torch.bfloat16
_SHORT_SECONDS = 0.02
ALONE_FROM = 0.85
"""The share of the run's roof that a product must reach before and after a case; heat takes less, another process at least half."""
ATTEMPTS = 3
_TIMES = ("median_ms", "p20_ms", "p80_ms", "min_ms", "tflops", "round_medians_ms", "plan_ms")


def product_tflops(device: torch.device, *, seconds: float = 0.2) -> float:
    """TFLOP/s of a square product of normal(0, 1) in bfloat16, 8192 wide on a GPU, 1024 on a CPU; the median after a warm-up of twice
    the time."""
    size = SIZE if device.type == "cuda" else _CPU_SIZE
    generator = torch.Generator(device).manual_seed(0)
    a, b = (torch.randn(size, size, device=device, generator=generator).to(_DTYPE) for _ in range(2))
    options = MeasureOptions(min_samples=3, target_seconds=seconds, warmup_seconds=2 * seconds)
    timing = measure(lambda: partial(torch.matmul, a, b), device, options)
    return 2 * size**3 / timing.median_ms / 1e9


def short_product(device: torch.device) -> float:
    """As product_tflops, in a twentieth of a second."""
    return product_tflops(device, seconds=_SHORT_SECONDS)


def alone(
    rows_of: Callable[[], list[Row]], device: torch.device, roof_tflops: float | None,
    rate_of: Callable[[torch.device], float] = short_product,
) -> list[Row]:  # fmt: skip
    """The rows, measured again while a product before or after them shows that something else used the GPU; errors when it always does.

    On a CPU, or without a roof, nothing is compared: there every program takes turns.
    """
    if device.type != "cuda" or roof_tflops is None:
        return rows_of()
    needed = ALONE_FROM * roof_tflops
    for _ in range(ATTEMPTS):
        for _ in range(ATTEMPTS):
            # What was stopped a moment ago may have left work in the GPU's queue.
            before = rate_of(device)
            if before >= needed:
                break
        rows = rows_of()
        after = rate_of(device)
        if min(before, after) >= needed:
            return [row | {"gemm_before_tflops": before, "gemm_after_tflops": after} for row in rows]
    reason = f"something else used the GPU: a product reached {before:.0f} TFLOP/s before and {after:.0f} after, {roof_tflops:.0f} when the run began"
    return [row | dict.fromkeys(_TIMES) | {"verdict": "error", "reason": reason} for row in rows]
