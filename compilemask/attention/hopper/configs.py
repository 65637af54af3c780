"""Tile sizes, stages and registers of the Hopper kernels, by head dimension."""

from __future__ import annotations

from dataclasses import dataclass

from compilemask.plan import HOPPER_H200, CostModel

SHARED_BYTES = 227 << 10  # of one program on compute capability 9
REGISTERS = 65536


@dataclass(frozen=True, slots=True)
class HopperForwardConfig:
    """block_m x block_n tiles, block_m / 64 consumer warpgroups of 64 rows each; one producer warp.

    num_stages: kv tiles in flight, of K and of V each. consumer_registers, producer_registers: of a thread; the file has
    REGISTERS. share_output: whether o leaves through the queries' buffer, where there is no room for one of its own.
    """

    block_m: int
    block_n: int
    num_stages: int
    consumer_registers: int = 240
    producer_registers: int = 24
    share_output: bool = False

    @property
    def num_consumers(self) -> int:
        return self.block_m // 64

    def shared_bytes(self, head_dim: int) -> int:
        """What the buffers take in half precision, without their barriers."""
        row_tiles = 1 if self.share_output else 2
        return 2 * head_dim * (row_tiles * self.block_m + 2 * self.num_stages * self.block_n)


FORWARD_CONFIGS = {
    64: (HopperForwardConfig(128, 128, 4),),
    128: (HopperForwardConfig(128, 128, 2),),
    256: (HopperForwardConfig(128, 64, 2, share_output=True),),
}
"""Of each size that head dimensions are filled up to, the usual one first; kernel_costs.HOPPER_H200 has their times."""


def padded_dim(head_dim: int) -> int:
    """The power of two that holds head_dim; a tensor map fills it up with zeros."""
    return 1 << (head_dim - 1).bit_length()


def config_of(dim: int, block_m: int, block_n: int) -> HopperForwardConfig:
    """The configuration with tiles of this size, for head dimensions filled up to dim."""
    return next(one for one in FORWARD_CONFIGS[dim] if (one.block_m, one.block_n) == (block_m, block_n))


def costs_of(dim: int, block_m: int, block_n: int) -> CostModel:
    """Times of tiles of this size; those of the usual ones where none were measured."""
    tilings = HOPPER_H200.tilings[dim]
    same = [one for one in tilings if (one.block_m, one.block_n) == (block_m, block_n)]
    return (same or tilings)[0].model
