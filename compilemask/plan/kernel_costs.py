"""The kernels that predictions are made for: which tiles they have, and what those take on a chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compilemask.plan.cost_model import H200, CostModel


@dataclass(frozen=True, slots=True)
class Tiling:
    """Tiles of block_m queries and block_n keys, and the times of a kernel that has them."""

    block_m: int
    block_n: int
    model: CostModel


@dataclass(frozen=True, slots=True, eq=False)
class KernelCosts:
    """What the forward of an implementation takes on a chip, in bfloat16 and float16.

    fitted, source: when and to what the times were fitted.
    tilings: its tiles, the usual ones first, by the largest head dimension that they serve. padded: whether smaller ones take
    as long as that one. smallest, multiple: the smallest head dimension, and what all of them are multiples of.
    chunks: of packed tiles. dense: where so large a share of the pairs in row tiles is visible, packed ones are not looked for.
    """

    impl: str
    chip: str
    fitted: str
    source: str
    tilings: Mapping[int, tuple[Tiling, ...]]
    padded: bool
    smallest: int
    multiple: int
    chunks: tuple[int, ...]
    dense: float

    def tilings_for(self, head_dim: int) -> tuple[Tiling, ...]:
        """The tiles for a head dimension; none where the implementation has no kernel for it."""
        if head_dim > max(self.tilings) or head_dim < self.smallest or head_dim % self.multiple:
            return ()
        return self.tilings[self._serving(head_dim)]

    def timed_dim(self, head_dim: int) -> int:
        """The head dimension whose times one has."""
        return self._serving(head_dim) if self.padded else head_dim

    def _serving(self, head_dim: int) -> int:
        return min(largest for largest in self.tilings if head_dim <= largest)


def _times(
    block_m: int, block_n: int, head_dim: int, *,
    contiguous_us: float, gathered_us: float, masked: float, q_tile_us: float,
) -> Tiling:  # fmt: skip
    """Tiles and what one of this very size and head dimension takes."""
    model = CostModel(
        gathered_us=gathered_us,
        contiguous_us=contiguous_us,
        masked=masked,
        q_tile_us=q_tile_us,
        fitted_cells=block_m * block_n,
        fitted_head_dim=head_dim,
    )
    return Tiling(block_m, block_n, model)


TRITON_H200 = KernelCosts(
    impl="triton",
    chip="H200",
    fitted="2026-11-30",
    source="benchmarks/results/tune_packed_128_bfloat16.json",
    tilings={256: (Tiling(128, 64, H200),)},
    padded=False,
    smallest=1,
    multiple=1,
    chunks=(16, 8),
    dense=1.0,
)
HOPPER_H200 = KernelCosts(
    impl="hopper",
    chip="H200",
    fitted="2026-11-30",
    source="docs/hopper-notes.md",
    tilings={
        64: (_times(128, 128, 64, contiguous_us=1.2, gathered_us=1.25, masked=1.5, q_tile_us=1.9),),
        128: (_times(128, 128, 128, contiguous_us=1.6, gathered_us=1.65, masked=1.15, q_tile_us=2.9),),
        256: (_times(128, 64, 256, contiguous_us=1.5, gathered_us=1.5, masked=1.15, q_tile_us=3.0),),
    },
    padded=True,
    smallest=40,
    multiple=8,
    chunks=(16,),
    dense=0.75,  # looking takes as long as planning
)
KERNELS = (HOPPER_H200, TRITON_H200)
"""In the order in which `auto` takes them on that chip."""


def taken_by_auto(kernel: KernelCosts, head_dim: int) -> bool:
    """Whether impl "auto" takes this kernel on its chip for that head dimension."""
    able = (one for one in KERNELS if one.chip == kernel.chip and one.tilings_for(head_dim))
    return kernel is next(able, None)
