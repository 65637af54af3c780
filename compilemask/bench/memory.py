"""How much memory a case takes, from its numbers alone: asked before anything is allocated, by the worker and by the studio.

No torch here. Counted is what is alive at the peak of each step, by the tensors that the step makes; the peak of the case is its largest step.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from compilemask.bench.protocol import ITEM_BYTES, CaseSpec
from compilemask.descriptor import MaskDescriptor

CELLS_PER_CHUNK = {"cuda": 1 << 27, "cpu": 1 << 23}
"""Cells that the verification computes at once."""
MAX_FLEX_INTERVALS = 4
"""More intervals a row than this are looked up in a dense table by FlexAttention's predicate."""

_DOUBLE, _SINGLE = 8, 4
_REFERENCE_CELLS = 1 << 24
_TILED_CELLS = 1 << 20
# Arrays of scores, of weights and of their gradients that plain operations hold at once.
_FORWARD_ARRAYS, _BACKWARD_ARRAYS = 5, 9
_GIB = 1 << 30
# Of our kernels: rows of a tile; copies of the terms of rows; partial tiles at an interval's ends; bytes of a row and of a tile in a plan;
# slots of an order of patches for each token.
_TILE, _TERM_COPIES, _PARTIAL_TILES, _ROW_WORDS, _TILE_WORDS, _SLOTS = 128, 4, 4, 8, 32, 1.25


def needed_bytes(spec: CaseSpec, mask: MaskDescriptor, kind: str) -> int:
    """About what a case takes on a device of this kind, "cuda" or "cpu": its tensors, and the larger of the provider's
    own arrays and of the float64 reference with its yardstick."""
    sizes = _Sizes.of(spec, mask)
    return sizes.tensors + max(_provider(spec, mask, sizes), _verification(sizes, kind))


def free_host_bytes() -> int | None:
    """Memory that a new process can have without swapping, as Linux estimates it; None elsewhere."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    words = fields.get("MemAvailable", "").split()
    return int(words[0]) << 10 if words and words[0].isdecimal() else None


def check_memory(spec: CaseSpec, mask: MaskDescriptor, kind: str, free: int) -> None:
    """Raises ValueError when the case needs more than `free` bytes."""
    needed = needed_bytes(spec, mask, kind)
    if needed > free:
        raise ValueError(
            f"the case needs about {needed / _GIB:.1f} GiB on {kind}, {free / _GIB:.1f} GiB are free; "
            f"use fewer heads, a smaller batch or shorter lengths"
        )


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Elements of q, of k and v together, of o; cells of one head and of all; bytes of an element."""

    q: int
    kv: int
    o: int
    square: int
    heads: int
    kv_len: int
    group: int
    item: int
    backward: bool

    @staticmethod
    def of(spec: CaseSpec, mask: MaskDescriptor) -> _Sizes:
        v_head_dim = spec.v_head_dim or spec.head_dim
        heads = spec.batch * spec.num_q_heads
        return _Sizes(
            q=heads * mask.q_len * spec.head_dim,
            kv=spec.batch * spec.num_kv_heads * mask.kv_len * (spec.head_dim + v_head_dim),
            o=heads * mask.q_len * v_head_dim,
            square=mask.q_len * mask.kv_len,
            heads=heads,
            kv_len=mask.kv_len,
            group=max(1, spec.num_q_heads // max(1, spec.num_kv_heads)),
            item=ITEM_BYTES[spec.dtype],
            backward=spec.direction != "forward",
        )

    @property
    def inputs(self) -> int:
        """Elements of q, k and v."""
        return self.q + self.kv

    @property
    def tensors(self) -> int:
        """Bytes of q, k, v, o; with gradients also of do, of do in the compared rows, of dq, dk, dv."""
        forward = (self.inputs + self.o) * self.item
        return forward + (2 * self.o + self.inputs) * self.item if self.backward else forward

    @property
    def arrays(self) -> int:
        return _BACKWARD_ARRAYS if self.backward else _FORWARD_ARRAYS

    @property
    def spread(self) -> int:
        """Elements of k and v with one copy for each query head, which plain products make of grouped heads."""
        return self.kv * self.group if self.group > 1 else 0


def _verification(sizes: _Sizes, kind: str) -> int:
    """k and v in float64, spread over the heads of a group, their gradients and sums, and some rows of everything."""
    keys = sizes.kv + sizes.spread
    if sizes.backward:
        keys += 3 * sizes.kv + sizes.spread
    cells = min(sizes.heads * sizes.square, max(CELLS_PER_CHUNK[kind], sizes.heads * sizes.kv_len))
    return _DOUBLE * (keys + sizes.arrays * cells)


def _provider(spec: CaseSpec, mask: MaskDescriptor, sizes: _Sizes) -> int:
    """What a provider allocates beyond its inputs and results."""
    all_cells = sizes.heads * sizes.square
    match spec.provider:
        case "reference":
            cells = all_cells if sizes.backward else min(all_cells, _REFERENCE_CELLS)
            return _DOUBLE * (2 * sizes.inputs + sizes.o + sizes.spread + sizes.arrays * cells)
        case "torch":
            copies = 2 if sizes.backward else 1
            return _SINGLE * (copies * (sizes.inputs + sizes.o) + sizes.arrays * min(all_cells, _TILED_CELLS))
        case "dense" | "sdpa_math":
            scores = sizes.arrays * max(sizes.item, _SINGLE) * all_cells
            return sizes.square + scores + sizes.item * sizes.spread
        case "sdpa" | "sdpa_cudnn" | "sdpa_flash":
            # The mask as bool, and as numbers to add to the scores.
            return (1 + sizes.item) * sizes.square + sizes.item * sizes.spread
        case "flex_attention" | "flex_attention_tuned" | "flex_attention_flash":
            return sizes.square if mask.runs_per_row_max > MAX_FLEX_INTERVALS else 0
        case "fa4" | "varlen":
            return sizes.item * (2 * sizes.inputs + sizes.o)
        case "triton" | "hopper" | "hopper_deterministic":
            return _kernels(spec.provider, mask, sizes)
        case _:
            return 0


def _kernels(provider: str, mask: MaskDescriptor, sizes: _Sizes) -> int:
    """lse, the plans, inputs without what nobody sees; of a backward the terms of rows, sums in float32, copies in another order."""
    rows = sizes.heads * mask.q_len
    needed = _SINGLE * rows + _plans(mask)
    if mask.unseen_keys:
        needed += sizes.item * sizes.kv
    if not sizes.backward:
        return needed
    needed += _plans(mask) + 2 * _TERM_COPIES * _SINGLE * (rows + sizes.heads * _TILE)
    if sizes.group > 1:
        # Parts of dk and dv of some query heads each, then their sums.
        needed += _SINGLE * (sizes.spread + sizes.kv)
    if mask.empty_rows:
        needed += sizes.item * (sizes.q + sizes.o)
    if provider == "hopper":
        needed += _SINGLE * sizes.q
    if mask.runs_per_row_max > 1:
        # q, k, v and do in the order of patches, their gradients in that order, and the row terms of slots.
        slots = 2 * sizes.inputs + sizes.o
        needed += int(_SLOTS * (sizes.item * slots + 2 * _TERM_COPIES * _SINGLE * rows))
    return needed


def _plans(mask: MaskDescriptor) -> int:
    """The tiles of one tiling: of a row of tiles, at most a few partial ones at each end of an interval, one word or two a row."""
    rows, columns = -(-mask.q_len // _TILE), -(-mask.kv_len // _TILE)
    partial = min(columns, _PARTIAL_TILES * max(1, mask.runs_per_row_max))
    return rows * (partial * (_ROW_WORDS * _TILE + _TILE_WORDS) + _TILE_WORDS)
