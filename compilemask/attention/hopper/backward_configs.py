"""Tile sizes, stages and registers of the Hopper backward, by head dimension."""

from __future__ import annotations

from dataclasses import dataclass

from compilemask.attention.hopper.configs import padded_dim


@dataclass(frozen=True, slots=True)
class HopperBackwardConfig:
    """A program's 128 rows visit tiles of block_n columns, num_stages of them in flight.

    pairs: whether of two full tiles the first's last products are awaited after the second's first ones have begun; not fused.
    consumer_registers, producer_registers: of a thread; two warpgroups and one warp share 65536.
    """

    block_n: int
    num_stages: int
    pairs: bool = False
    consumer_registers: int = 240
    producer_registers: int = 24

    def shared_bytes(self, head_dim: int, *, fused: bool = False) -> int:
        """What the buffers take in half precision, without their barriers."""
        rows, columns, terms = 4 * BLOCK_M * head_dim, 4 * self.block_n * head_dim, 8 * self.block_n
        exchange = 4 * BLOCK_M * self.block_n + 4 * BLOCK_M * 64 if fused else 0
        return rows + self.num_stages * (columns + terms) + exchange


BLOCK_M = 128
QUERY_ROWS = {64: HopperBackwardConfig(128, 3, pairs=True), 128: HopperBackwardConfig(128, 2)}
KEY_ROWS = {64: HopperBackwardConfig(64, 4, pairs=True), 128: HopperBackwardConfig(64, 3, pairs=True)}
FUSED = {64: HopperBackwardConfig(128, 2), 128: HopperBackwardConfig(64, 3)}
HEAD_DIMS = tuple(KEY_ROWS)


def takes_dims(head_dim: int, v_head_dim: int) -> bool:
    """Whether there are kernels for these sizes: of one padded size, their rows whole multiples of 16 bytes."""
    padded = padded_dim(head_dim)
    return padded in HEAD_DIMS and padded == padded_dim(v_head_dim) and head_dim % 8 == v_head_dim % 8 == 0
