"""What a plan costs on a GPU, predicted from its numbers of tiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compilemask.geometry.ragged import IntArray

FloatArray = npt.NDArray[np.float64]
FITTED_CELLS = 128 * 64  # of the tile that the times of H200 were fitted on
FITTED_HEAD_DIM = 128


@dataclass(frozen=True, slots=True)
class CostModel:
    """Times of the parts of a forward pass, in microseconds of one multiprocessor.

    gathered_us: a kv tile whose keys are gathered in chunks. contiguous_us: one that is a run of consecutive keys.
    masked: factor for tiles that test their cells. q_tile_us: what every q tile takes besides (start, load of the
    queries, division and store of the result). multiprocessors: how many share the work. fitted_cells, fitted_head_dim: of the
    tile that the times are of; others are scaled by their number of multiplications, which was not fitted.

    The defaults were fitted on an H200 (bf16, head_dim 128, 16 heads, tiles of 128 x 64, times of a multiprocessor with two
    programs) to the Triton kernels on masks of 8K and 32K tokens; sums came within 3 % of the measured times at 32K, 6 % below
    them at 8K.
    """

    gathered_us: float = 1.15
    contiguous_us: float = 1.05
    masked: float = 1.10
    q_tile_us: float = 4.4
    multiprocessors: int = 132
    fitted_cells: int = FITTED_CELLS
    fitted_head_dim: int = FITTED_HEAD_DIM

    def q_tile_costs(
        self, tiles: IntArray, full: IntArray, *, gathered: bool, block_m: int, block_n: int, head_dim: int
    ) -> FloatArray:
        """Microseconds of each q tile, for one head. tiles: its kv tiles; full: those of them that need no mask."""
        scale = block_m * block_n / self.fitted_cells * head_dim / self.fitted_head_dim
        each = (self.gathered_us if gathered else self.contiguous_us) * scale
        costs: FloatArray = each * (full + self.masked * (tiles - full)) + self.q_tile_us
        return costs

    def milliseconds(self, total_us: float, heaviest_us: float, num_heads: int) -> float:
        """Time of a pass: the work of all heads shared evenly, but no less than the heaviest q tile takes by itself."""
        return max(total_us * num_heads / self.multiprocessors, heaviest_us) / 1000

    def balanced_milliseconds(self, costs: FloatArray, num_heads: int) -> float:
        """Time of a pass of q tiles that cannot be shared, of so many heads: no schedule takes less, good ones hardly more.

        With P programs, one of them computes at least k + 1 of the k * P + 1 heaviest (Graham, 1969). costs: microseconds.
        """
        heaviest = np.repeat(np.sort(costs)[::-1], num_heads)
        if not len(heaviest):
            return 0.0
        programs = self.multiprocessors
        rounds = np.arange((len(heaviest) - 1) // programs + 1)
        sums = np.append(0.0, np.cumsum(heaviest))
        last = rounds * programs + 1
        return float(max(sums[-1] / programs, (sums[last] - sums[last - rounds - 1]).max())) / 1000


H200 = CostModel()
