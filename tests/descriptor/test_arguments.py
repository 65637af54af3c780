"""Integers that callers give: those of every library are taken, bools and floats are named and refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from known_masks import causal

from compilemask.arguments import as_index, show
from compilemask.descriptor import MaskDescriptor

MASK = MaskDescriptor.from_trapezoids(4, 4, causal(4))


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), np.array(3)])
def test_integers_of_every_kind_are_ints(value: object) -> None:
    number = as_index(value, "n")
    assert number == 3 and type(number) is int


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (True, "True"),
        (np.True_, "True"),
        (np.array(True), "True"),
        (3.0, "3.0"),
        (np.float32(3), "3.0"),
        ("3", "'3'"),
        (None, "None"),
        ([3], "list"),
        (np.array([3]), "ndarray"),
        ("x" * 99, "'" + "x" * 56 + "..."),
    ],
)
def test_everything_else_is_refused_in_one_line(value: object, got: str) -> None:
    with pytest.raises(ValueError) as caught:
        as_index(value, "n")
    assert str(caught.value) == f"n must be an integer, got {got}"


def test_a_tensor_of_one_integer_is_one_and_of_one_bool_is_none() -> None:
    torch = pytest.importorskip("torch")
    assert as_index(torch.tensor(3), "n") == 3
    with pytest.raises(ValueError, match="n must be an integer, got tensor"):
        as_index(torch.tensor(True), "n")


def test_huge_integers_are_told_by_their_size() -> None:
    assert show(10**5000) == f"an integer of {(10**5000).bit_length()} bits"


CALLS: dict[str, Callable[[object, object], object]] = {
    "slice_queries": lambda a, b: MASK.slice_queries(a, b),  # type: ignore[arg-type]
    "slice_keys": lambda a, b: MASK.slice_keys(a, b),  # type: ignore[arg-type]
    "for_decode": lambda a, b: MASK.for_decode(a, b, 4),  # type: ignore[arg-type]
    "row_intervals": lambda a, b: [part.tolist() for part in MASK.row_intervals(a, b)],  # type: ignore[arg-type]
    "pad_to": lambda a, b: MASK.pad_to(a, b),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_numpy_integers_give_what_ints_give(name: str) -> None:
    numbers = (4, 6) if name == "pad_to" else (1, 3)
    result = CALLS[name](*map(np.int32, numbers))
    assert result == CALLS[name](*numbers)
    if isinstance(result, MaskDescriptor):
        assert type(result.q_len) is int and type(result.kv_len) is int
        assert MaskDescriptor.from_json(result.to_json()) == result


@pytest.mark.parametrize("bad", [True, 2.0, np.float64(2), "a", np.True_])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_each_argument_is_named_when_it_is_no_integer(name: str, bad: object) -> None:
    first, second = {"pad_to": ("q_len", "kv_len"), "for_decode": ("q_start", "q_stop")}.get(name, ("start", "stop"))
    with pytest.raises(ValueError, match=f"^{first} must be an integer, got "):
        CALLS[name](bad, 6)
    with pytest.raises(ValueError, match=f"^{second} must be an integer, got "):
        CALLS[name](0 if name != "pad_to" else 6, bad)


def test_the_length_of_a_cache_is_an_integer() -> None:
    assert MASK.for_decode(1, 2, np.int64(3)) == MASK.for_decode(1, 2, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^kv_len must be an integer, got 3\.0$"):
        MASK.for_decode(1, 2, 3.0)  # type: ignore[arg-type]


def test_concatenate_takes_a_list() -> None:
    with pytest.raises(TypeError, match=r"concatenate takes a list of MaskDescriptors, got MaskDescriptor$"):
        MaskDescriptor.concatenate(MASK)  # type: ignore[arg-type]
