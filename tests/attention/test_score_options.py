"""What makes a legal set of score options, and the one error of each illegal one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compilemask.attention.score_options import ScoreOptions


def test_defaults_are_plain_softmax_attention() -> None:
    assert ScoreOptions(0.5) == ScoreOptions(0.5, softcap=None, activation="softmax", norm=None)
    assert ScoreOptions(0.5).has_lse
    assert not ScoreOptions(0.5, activation="silu", norm=1024).has_lse


@pytest.mark.parametrize("scale", [0, -3, 0.25, np.float32(0.5), 2**100, -(2.0**100)])
def test_any_number_that_float32_can_multiply_with_is_a_scale(scale: float) -> None:
    assert ScoreOptions(scale).sm_scale == scale


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"sm_scale": 1e39}, ValueError, "sm_scale must be at most 2\\*\\*100 in magnitude, got 1e\\+39"),
        ({"sm_scale": -1e39}, ValueError, "sm_scale must be at most"),
        ({"sm_scale": math.nan}, ValueError, "sm_scale must be a finite number, got nan"),
        ({"sm_scale": "1"}, TypeError, "sm_scale must be a real number, got '1'"),
        ({"sm_scale": True}, TypeError, "sm_scale must be a real number, got True"),
        ({"softcap": 0.0}, ValueError, "softcap must be positive, from 2\\*\\*-100 to 2\\*\\*100, or None, got 0.0"),
        ({"softcap": -5}, ValueError, "softcap must be positive"),
        ({"softcap": math.inf}, ValueError, "softcap must be a finite number, got inf"),
        ({"activation": "relu"}, ValueError, "activation must be 'softmax' or 'silu', got 'relu'"),
        ({"activation": "silu", "norm": 0}, ValueError, "norm must be positive"),
        ({"norm": 10.0}, ValueError, "norm divides the weights of activation 'silu'; softmax has no norm, got 10.0"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(words: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ScoreOptions(**{"sm_scale": 0.5, **words})  # type: ignore[arg-type]
