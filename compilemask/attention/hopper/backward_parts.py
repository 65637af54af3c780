"""What the warps of the backward kernel share: facts known at compile time, tile lists, places, and shared memory."""

# No `from __future__ import annotations`: an aggregate reads its annotations as classes.

from compilemask.attention.hopper.channel import Channel, open_channel
from compilemask.attention.hopper.gluon_api import aggregate, gl, gluon, mbarrier

ROWS = gl.constexpr(64)
HALVES = gl.constexpr(2)
SUM_COLS = gl.constexpr(64)
# What Facts.has_gaps may be besides 0: there are gap tiles; there are none, and interval tiles have bit masks.
GAPS = gl.constexpr(1)
BITS = gl.constexpr(2)


@aggregate
class Facts:
    """What is known at compile time. scores, sums, parts: layouts of [ROWS, block_n], [ROWS, dim], [ROWS, SUM_COLS] of a warpgroup.

    dim: of the buffers, a power of two; qk_dim, vo_dim: of the tensors.

    pairs: whether of two full tiles the first's last products are awaited after the second's first ones have begun.
    """

    dtype: gl.constexpr
    block_n: gl.constexpr
    dim: gl.constexpr
    qk_dim: gl.constexpr
    vo_dim: gl.constexpr
    key_rows: gl.constexpr
    fused: gl.constexpr
    pairs: gl.constexpr
    has_softcap: gl.constexpr
    silu: gl.constexpr
    has_gaps: gl.constexpr
    scores: gl.constexpr
    sums: gl.constexpr
    parts: gl.constexpr

    @gluon.constexpr_function
    def __init__(self, dtype, block_n, dim, qk_dim, vo_dim, key_rows, fused, pairs, has_softcap, silu, has_gaps):
        self.dtype = gl.constexpr(dtype)
        self.block_n = gl.constexpr(block_n)
        self.dim = gl.constexpr(dim)
        self.qk_dim = gl.constexpr(qk_dim)
        self.vo_dim = gl.constexpr(vo_dim)
        self.key_rows = gl.constexpr(key_rows)
        self.fused = gl.constexpr(fused)
        self.pairs = gl.constexpr(pairs)
        self.has_softcap = gl.constexpr(has_softcap)
        self.silu = gl.constexpr(silu)
        self.has_gaps = gl.constexpr(has_gaps)
        self.scores = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, block_n, 16]))
        self.sums = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, dim, 16]))
        self.parts = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16]))


@aggregate
class Lists:
    """The tiles of columns that one tile of rows visits: full ranges, interval tiles, gap tiles; see MaskTensors."""

    full_begin: gl.tensor
    full_end: gl.tensor
    interval_begin: gl.tensor
    interval_end: gl.tensor
    gap_begin: gl.tensor
    gap_end: gl.tensor
    full_start: gl.tensor
    full_count: gl.tensor
    interval_start: gl.tensor
    interval_ends: gl.tensor
    gap_start: gl.tensor
    gap_ends_indptr: gl.tensor
    gap_ends: gl.tensor
    ends: gl.tensor

    @gluon.constexpr_function
    def __init__(self, full, interval, gap, ends):
        self.full_begin, self.full_end, self.full_start, self.full_count = full
        self.interval_begin, self.interval_end, self.interval_start, self.interval_ends = interval
        self.gap_begin, self.gap_end, self.gap_start, self.gap_ends_indptr, self.gap_ends = gap
        self.ends = ends


@aggregate
class Place:
    """Where a program stands: its rows, in row_head of a batch item, and column heads from col_head on, num_visited of them.

    grad_head: of the gradients, heads_before and num_col_heads: column heads of the items before and of all items; these
    count over the batch.
    """

    first_row: gl.tensor
    num_rows: gl.tensor
    batch: gl.tensor
    row_head: gl.tensor
    col_head: gl.tensor
    num_visited: gl.tensor
    grad_head: gl.tensor
    heads_before: gl.tensor
    num_col_heads: gl.tensor

    @gluon.constexpr_function
    def __init__(
        self, first_row, num_rows, batch, row_head, col_head, num_visited, grad_head, heads_before, num_col_heads
    ):
        self.first_row, self.num_rows = first_row, num_rows
        self.batch, self.row_head, self.col_head, self.num_visited = batch, row_head, col_head, num_visited
        self.grad_head, self.heads_before, self.num_col_heads = grad_head, heads_before, num_col_heads


@aggregate
class Buffers:
    """Shared memory of a program: rows [HALVES, 1, 1, ROWS, dim], filled once; columns in a ring of stages.

    lse, delta [stages, block_n]: of the columns, where these are queries.
    """

    row_qk: gl.shared_memory_descriptor
    row_vo: gl.shared_memory_descriptor
    rows_full: gl.shared_memory_descriptor
    columns: Channel
    col_vo: gl.shared_memory_descriptor
    lse: gl.shared_memory_descriptor
    delta: gl.shared_memory_descriptor

    @gluon.constexpr_function
    def __init__(self, row_qk, row_vo, rows_full, columns, col_vo, lse, delta):
        self.row_qk = row_qk
        self.row_vo = row_vo
        self.rows_full = rows_full
        self.columns = columns
        self.col_vo = col_vo
        self.lse = lse
        self.delta = delta


@aggregate
class Exchange:
    """How two warpgroups make a part of dq together.

    grads [2 * HALVES, ROWS, block_n]: d loss / d score of two steps, of each half; written: completes when both halves of
    a step are there. sums [HALVES, 1, ROWS, SUM_COLS] float32: what each warpgroup adds to dq, on its way out.
    """

    grads: gl.shared_memory_descriptor
    written: gl.shared_memory_descriptor
    sums: gl.shared_memory_descriptor

    @gluon.constexpr_function
    def __init__(self, grads, written, sums):
        self.grads = grads
        self.written = written
        self.sums = sums


@gluon.jit
def load_lists(
    at, full_indptr, full_start, full_count, interval_indptr, interval_start, interval_ends,
    gap_indptr, gap_start, gap_ends_indptr, gap_ends, ends,
):  # fmt: skip
    """The lists that begin at this place of the indptr arrays."""
    full = (gl.load(full_indptr + at), gl.load(full_indptr + at + 1), full_start, full_count)
    interval = (gl.load(interval_indptr + at), gl.load(interval_indptr + at + 1), interval_start, interval_ends)
    gap = (gl.load(gap_indptr + at), gl.load(gap_indptr + at + 1), gap_start, gap_ends_indptr, gap_ends)
    return Lists(full, interval, gap, ends)


@gluon.jit
def open_buffers(facts, row_desc, col_desc, term_layout: gl.constexpr, NUM_STAGES: gl.constexpr):
    """Shared memory for rows and columns as these descriptors copy them; call fence_async_shared before the partitions start."""
    row_layout: gl.constexpr = row_desc.layout
    col_layout: gl.constexpr = col_desc.layout
    row_qk = gl.allocate_shared_memory(facts.dtype, [HALVES, 1, 1, ROWS, facts.dim], row_layout)
    row_vo = gl.allocate_shared_memory(facts.dtype, [HALVES, 1, 1, ROWS, facts.dim], row_layout)
    rows_full = gl.allocate_shared_memory(gl.int64, [1, 1], mbarrier.MBarrierLayout())
    mbarrier.init(rows_full.index(0), count=1)
    columns = open_channel(facts.dtype, [1, 1, facts.block_n, facts.dim], col_layout, NUM_STAGES, HALVES)
    col_vo = gl.allocate_shared_memory(facts.dtype, [NUM_STAGES, 1, 1, facts.block_n, facts.dim], col_layout)
    lse = gl.allocate_shared_memory(gl.float32, [NUM_STAGES, facts.block_n], term_layout)
    delta = gl.allocate_shared_memory(gl.float32, [NUM_STAGES, facts.block_n], term_layout)
    return Buffers(row_qk, row_vo, rows_full, columns, col_vo, lse, delta)


@gluon.jit
def open_exchange(facts, sum_desc):
    """Shared memory for parts of dq as this descriptor adds them; call fence_async_shared before the partitions start."""
    sum_layout: gl.constexpr = sum_desc.layout
    grads = gl.allocate_shared_memory(facts.dtype, [2 * HALVES, ROWS, facts.block_n], gl.NVMMASharedLayout(128, 16, 2))
    written = gl.allocate_shared_memory(gl.int64, [1, 1], mbarrier.MBarrierLayout())
    mbarrier.init(written.index(0), count=HALVES)
    sums = gl.allocate_shared_memory(gl.float32, [HALVES, 1, ROWS, SUM_COLS], sum_layout)
    return Exchange(grads, written, sums)
