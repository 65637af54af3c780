"""A ring of stages in shared memory between one warp that copies and the warpgroups that compute."""

# No `from __future__ import annotations`: an aggregate reads its annotations as classes.

from compilemask.attention.hopper.gluon_api import aggregate, gl, gluon, mbarrier


@gluon.jit
def stage_of(step, NUM_STAGES: gl.constexpr):
    """(stage, parity of the round) of a step that counts from 0; powers of two by bits, which cost nothing."""
    if NUM_STAGES == 1:
        return step * 0, step & 1
    elif NUM_STAGES == 2:
        return step & 1, (step >> 1) & 1
    elif NUM_STAGES == 4:
        return step & 3, (step >> 2) & 1
    else:
        return step % NUM_STAGES, (step // NUM_STAGES) & 1


@aggregate
class Channel:
    """Stages of shared memory that are filled and emptied in turn; both sides count their steps from 0.

    The producer calls `acquire` for a step, copies into `buffers.index(stage)` with `full.index(stage)` as the barrier of
    the copy; each consumer calls `wait`, reads, and calls `release` once.
    """

    buffers: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    num_stages: gl.constexpr

    @gluon.constexpr_function
    def __init__(self, buffers, full, empty, num_stages):
        self.buffers = buffers
        self.full = full
        self.empty = empty
        self.num_stages = gl.constexpr(num_stages)

    @gluon.jit
    def acquire(self, step, NUM_BYTES: gl.constexpr):
        """The stage of a step, once it is empty; NUM_BYTES: that its copies will bring."""
        stage, parity = stage_of(step, self.num_stages)
        mbarrier.wait(self.empty.index(stage), parity ^ 1)
        mbarrier.expect(self.full.index(stage), NUM_BYTES)
        return stage

    @gluon.jit
    def wait(self, step):
        """The stage of a step, once it is full."""
        stage, parity = stage_of(step, self.num_stages)
        mbarrier.wait(self.full.index(stage), parity)
        return stage

    @gluon.jit
    def release(self, stage):
        """This consumer has read the stage."""
        mbarrier.arrive(self.empty.index(stage), count=1)


@gluon.jit
def open_channel(
    dtype: gl.constexpr,
    shape: gl.constexpr,
    layout: gl.constexpr,
    NUM_STAGES: gl.constexpr,
    NUM_CONSUMERS: gl.constexpr,
):
    """A channel of NUM_STAGES buffers of this shape; NUM_CONSUMERS: partitions that release each stage.

    Call fence_async_shared after the last channel is opened, before the partitions start.
    """
    # The kernel language does not unpack lists.
    buffers = gl.allocate_shared_memory(dtype, [NUM_STAGES] + shape, layout)  # noqa: RUF005
    full = gl.allocate_shared_memory(gl.int64, [NUM_STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [NUM_STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(NUM_STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=NUM_CONSUMERS)
    return Channel(buffers, full, empty, NUM_STAGES)
