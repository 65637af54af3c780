"""What attention does with a score besides showing or hiding it: scale, cap, and the function that makes weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

Activation = Literal["softmax", "silu"]
ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)
LARGEST = 2.0**100


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """The weight of a visible key, from score = sm_scale * (q . k).

    softcap: score becomes softcap * tanh(score / softcap) (Gemma 2), before the mask; None leaves it as it is.
    activation: "softmax": weight = exp(score) / the sum of exp over the row's visible keys, and exp(sink) where there are
    learnable sinks. "silu" (HSTU, Zhai et al., 2024): weight = score * sigmoid(score) / norm, not normalized over the row.
    norm: what silu's weights are divided by. The dialects differ in it: the longest length of a batch (the original), a
    number of one's own, or None, which divides by nothing.

    Numbers are at most 2**100 in magnitude, softcap and norm at least 2**-100, so that float32 holds what is made of them.
    Raises TypeError or ValueError at birth for anything else, naming the option.
    """

    sm_scale: float
    softcap: float | None = None
    activation: Activation = "softmax"
    norm: float | None = None

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation must be 'softmax' or 'silu', got {self.activation!r}")
        if not abs(_number("sm_scale", self.sm_scale)) <= LARGEST:
            raise ValueError(f"sm_scale must be at most 2**100 in magnitude, got {self.sm_scale}")
        for name, value in (("softcap", self.softcap), ("norm", self.norm)):
            if value is not None and not 1 / LARGEST <= _number(name, value) <= LARGEST:
                raise ValueError(f"{name} must be positive, from 2**-100 to 2**100, or None, got {value}")
        if self.norm is not None and self.activation == "softmax":
            raise ValueError(f"norm divides the weights of activation 'silu'; softmax has no norm, got {self.norm}")

    @property
    def has_lse(self) -> bool:
        """Whether rows have a logarithm of a sum of exp(score); without one it is NaN wherever a tensor must stand for it."""
        return self.activation == "softmax"


def _number(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value}")
    return float(value)
