"""Errors of one tensor, gathered part by part, and the verdict."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from compilemask.bench.protocol import Quantity, QuantityError


class ErrorTally:
    """Running maxima of the errors of a result and of plain attention."""

    def __init__(self) -> None:
        self.max_error = 0.0
        self.sum_error = 0.0
        self.count = 0
        self.plain_error = 0.0
        self.magnitude = 0.0
        self.worst: tuple[int, ...] | None = None

    def add(self, got: Tensor, exact: Tensor, plain: Tensor, numbers: Tensor) -> None:
        """got, exact, plain [batch, heads, positions, ...]; numbers [positions]: which they are, for `worst`."""
        if exact.numel() == 0:
            return
        error = _error(got, exact)
        largest = float(error.max())
        if largest > self.max_error or self.worst is None:
            at = np.unravel_index(int(error.argmax()), tuple(error.shape))
            self.worst = tuple(int(numbers[int(i)] if axis == 2 else i) for axis, i in enumerate(at))
            self.max_error = largest
        self.sum_error += float(error.sum())
        self.count += error.numel()
        self.plain_error = max(self.plain_error, float(_error(plain, exact).max()))
        finite = exact[exact.isfinite()]
        self.magnitude = max(self.magnitude, float(finite.abs().max()) if finite.numel() else 0.0)


def judge(quantity: Quantity, got: Tensor, tally: ErrorTally) -> QuantityError:
    """The verdict on a tensor from the errors of its compared elements, and from all of its elements being numbers."""
    # lse is float32 whatever the inputs are, and -inf where a row sees no key.
    dtype = torch.float32 if quantity == "lse" else got.dtype
    tolerance = 2 * tally.plain_error + ulp(dtype, tally.magnitude)
    strange = got.isnan() if quantity == "lse" else ~got.isfinite()
    nonfinite = int(strange.sum())
    return QuantityError(
        quantity=quantity,
        passed=nonfinite == 0 and math.isfinite(tolerance) and tally.max_error <= tolerance,
        max_error=tally.max_error,
        mean_error=tally.sum_error / tally.count if tally.count else 0.0,
        tolerance=tolerance,
        yardstick_error=tally.plain_error,
        worst_index=tally.worst,
        nonfinite=nonfinite,
    )


def ulp(dtype: torch.dtype, magnitude: float) -> float:
    """The distance of neighbouring numbers of `dtype` at this magnitude."""
    return torch.finfo(dtype).eps * 2.0 ** math.floor(math.log2(magnitude)) if 0 < magnitude < math.inf else 0.0


def _error(got: Tensor, exact: Tensor) -> Tensor:
    """|got - exact|; 0 where both are the same infinity, infinite where one of them is NaN."""
    error = (got.double() - exact).abs().masked_fill(got.double() == exact, 0.0)
    return error.nan_to_num(nan=math.inf, posinf=math.inf)
