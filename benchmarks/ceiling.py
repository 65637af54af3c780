"""What the chip reaches in one large matrix product: the roof over the rates of attention measured in the same run."""

from __future__ import annotations

from functools import partial

import torch

from compilemask.bench.inputs import TORCH_DTYPE
from compilemask.bench.measure import measure
from compilemask.bench.protocol import Dtype, MeasureOptions

SIZE = 8192
_CPU_SIZE = 1024


def product_tflops(device: torch.device, dtype: Dtype, *, seconds: float = 0.2) -> float:
    """TFLOP/s of a square product of normal(0, 1), 8192 wide on a GPU, 1024 on a CPU; the median after a warm-up of twice the time."""
    size = SIZE if device.type == "cuda" else _CPU_SIZE
    generator = torch.Generator(device).manual_seed(0)
    a, b = (torch.randn(size, size, device=device, generator=generator).to(TORCH_DTYPE[dtype]) for _ in range(2))
    options = MeasureOptions(min_samples=3, target_seconds=seconds, warmup_seconds=2 * seconds)
    timing = measure(lambda: partial(torch.matmul, a, b), device, options)
    return 2 * size**3 / timing.median_ms / 1e9
