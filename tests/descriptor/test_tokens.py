"""Tokens name one object of this process, and only while it lives."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.descriptor.tokens import new_token, owner_of, retire_token
from compilemask.geometry import Trapezoids


def causal(length: int) -> MaskDescriptor:
    return MaskDescriptor.from_trapezoids(length, length, Trapezoids.of(0, length, 0, 0, 1, 1))


def named_by(token: np.ndarray) -> object:
    return owner_of(*token.tolist())


@pytest.mark.parametrize(
    "make", [lambda: causal(5), lambda: causal(0), lambda: MaskBatch.of([[causal(3)], [causal(4)]])]
)
def test_a_token_names_its_own_mask_and_keeps_nothing_alive(make) -> None:  # type: ignore[no-untyped-def]
    mask = make()
    token = mask.token.copy()
    assert token.dtype == np.int64
    assert named_by(token) is mask
    del mask
    gc.collect()
    assert named_by(token) is None


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda mask: pickle.loads(pickle.dumps(mask))])
def test_equal_masks_have_tokens_of_their_own_however_they_were_copied(again) -> None:  # type: ignore[no-untyped-def]
    for mask in (causal(5), MaskBatch.of([[causal(3)], [causal(4)]])):
        other = again(mask)
        assert other == mask
        assert named_by(mask.token) is mask
        assert named_by(other.token) is other


def test_a_retired_token_names_nothing_and_another_takes_its_place() -> None:
    mask = causal(5)
    second = new_token(mask)
    retire_token(mask.token)
    assert named_by(mask.token) is None
    assert named_by(second) is mask


def test_a_token_of_another_process_names_nothing() -> None:
    process, number = causal(5).token.tolist()
    assert owner_of(process + 1, number) is None
