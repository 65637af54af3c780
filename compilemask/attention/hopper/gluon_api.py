"""Gluon, Triton's low-level language, as the kernels of this room use it: the only file that imports it.

Runs on triton 3.6 and on the newest release; what they call differently is absorbed here.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language import _core
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
from triton.language.core import _aggregate as aggregate

__all__ = [
    "TensorDescriptor",
    "add_box",
    "aggregate",
    "block_boundary",
    "fence_async_shared",
    "gl",
    "gluon",
    "load_box",
    "mbarrier",
    "reinterpret",
    "store_box",
    "store_wait",
    "warpgroup_mma",
    "warpgroup_mma_wait",
]

store_wait = tma.store_wait
if hasattr(tma, "async_load"):
    # load: (descriptor, coordinates, barrier, shared memory); store and add: (descriptor, coordinates, shared memory).
    load_box, store_box, add_box = tma.async_load, tma.async_store, tma.async_atomic_add
else:
    # triton 3.6 knows the reduction in its compiler, but has no word for it in the language.
    load_box, store_box = tma.async_copy_global_to_shared, tma.async_copy_shared_to_global

    @_core.builtin
    def add_box(tensor_desc, coord, src, _semantic=None):
        """Add a tile of shared memory to global memory, element by element, atomically."""
        _semantic.builder.create_async_tma_reduce(
            _core.ir.DESCRIPTOR_REDUCE_KIND.ADD,
            tensor_desc.handle,
            _semantic._convert_to_ir_values(coord, require_i64=False),
            src.handle,
        )


@_core.builtin
def reinterpret(buffer, dtype, shape, layout, _semantic=None):
    """The same shared memory as a buffer of another shape and layout."""
    dtype, layout = _core._unwrap_if_constexpr(dtype), _core._unwrap_if_constexpr(layout)
    return _semantic.memdesc_reinterpret(buffer, dtype, [_core._unwrap_if_constexpr(size) for size in shape], layout)


@gluon.jit
def block_boundary(x):
    """A loop that is never entered twice; x: any int32. The assembler moves nothing across it.

    It stands before the last wait for a matrix product: without it the assembler sinks all work that does not need the
    product below the wait, and nothing overlaps. It cannot remove a loop that reads the clock.
    """
    gl.inline_asm_elementwise(
        "{ .reg .pred p; .reg .b32 t; spin: mov.u32 t, %clock; setp.eq.u32 p, t, $1; @p bra spin; mov.u32 $0, 0; }",
        "=r,r", [x], dtype=gl.int32, is_pure=False, pack=1,
    )  # fmt: skip
