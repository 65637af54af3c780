"""Tile sizes and launch options of the kernels: a committed table, nothing is tuned at call time.

For head_dim 64 and 128 in half precision measured on an H200 (benchmarks/tune_forward.py, rows in benchmarks/results); the rest
is chosen to fit shared memory without spills (tests/attention/test_offline_compile.py).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ForwardConfig:
    """block_m x block_n tiles; tma: load tiles through tensor descriptors where the inputs' layout allows it.

    max_registers: of a thread, to fit more programs on a multiprocessor; None leaves it to the compiler.
    """

    block_m: int
    block_n: int
    num_warps: int
    num_stages: int
    tma: bool = False
    max_registers: int | None = None


_HALF_HOPPER = {
    64: ForwardConfig(128, 64, 8, 3, tma=True, max_registers=128),
    128: ForwardConfig(128, 64, 8, 2, tma=True, max_registers=128),
    256: ForwardConfig(128, 64, 8, 2, tma=True),
}
_HALF_HOPPER_POINTERS = {
    64: ForwardConfig(128, 64, 8, 2),
    128: ForwardConfig(128, 64, 8, 2),
    256: ForwardConfig(128, 32, 8, 2),
}
_HALF = {
    64: ForwardConfig(128, 64, 8, 3),
    128: ForwardConfig(128, 32, 8, 2),
    256: ForwardConfig(64, 32, 8, 2),
}
_FLOAT = {
    64: ForwardConfig(64, 32, 8, 1),
    128: ForwardConfig(32, 32, 8, 1),
    256: ForwardConfig(32, 32, 8, 1),
}
_INTERPRETER = ForwardConfig(64, 64, 4, 1)


def block_dim(head_dim: int) -> int:
    """The power of two, at least 16, that holds head_dim."""
    return max(16, 1 << (head_dim - 1).bit_length())


def forward_config(
    head_dim: int, v_head_dim: int, itemsize: int, capability: tuple[int, int] | None, *, tma: bool
) -> ForwardConfig:
    """The configuration for these sizes.

    itemsize: bytes of an element (2 or 4); capability: CUDA's, None for the interpreter; tma: whether tensor descriptors
    can address the inputs.
    """
    if capability is None:
        return _INTERPRETER
    size = max(64, block_dim(head_dim), block_dim(v_head_dim))
    if itemsize == 4:
        return _FLOAT[size]
    if capability[0] == 9:
        return _HALF_HOPPER[size] if tma else _HALF_HOPPER_POINTERS[size]
    return _HALF[size]
