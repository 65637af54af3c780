"""Masks packed along the diagonal, padded, and cut into the steps of a decoder: laws against the dense mask."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import descriptors

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids, rectangle

law = settings(max_examples=150, derandomize=True, deadline=None)
CAUSAL = MaskDescriptor.from_trapezoids(8, 8, Trapezoids.of(0, 8, 0, 0, 1, 1))


@law
@given(st.lists(descriptors(), max_size=5))
def test_concatenated_masks_stand_on_the_diagonal_and_nothing_beside_them(masks: list[MaskDescriptor]) -> None:
    packed = MaskDescriptor.concatenate(masks)
    expected = np.zeros((sum(m.q_len for m in masks), sum(m.kv_len for m in masks)), bool)
    q = k = 0
    for mask in masks:
        expected[q : q + mask.q_len, k : k + mask.kv_len] = mask.dense()
        q, k = q + mask.q_len, k + mask.kv_len
    assert np.array_equal(packed.dense(), expected)
    assert packed.visible_pairs == sum(mask.visible_pairs for mask in masks)


@law
@given(descriptors(), descriptors(), descriptors())
def test_concatenation_is_associative_and_its_parts_can_be_cut_out_again(
    a: MaskDescriptor, b: MaskDescriptor, c: MaskDescriptor
) -> None:
    concatenate = MaskDescriptor.concatenate
    assert concatenate([concatenate([a, b]), c]) == concatenate([a, concatenate([b, c])]) == concatenate([a, b, c])
    packed = concatenate([a, b])
    assert packed.slice_queries(0, a.q_len).slice_keys(0, a.kv_len) == a
    assert packed.slice_queries(a.q_len, a.q_len + b.q_len).slice_keys(a.kv_len, a.kv_len + b.kv_len) == b
    assert packed.transpose() == concatenate([a.transpose(), b.transpose()])


def test_one_mask_alone_and_no_mask_at_all() -> None:
    assert MaskDescriptor.concatenate([CAUSAL]) == CAUSAL
    nothing = MaskDescriptor.concatenate([])
    assert (nothing.q_len, nothing.kv_len, nothing.visible_pairs) == (0, 0, 0)


def test_documents_of_any_number_are_packed_by_their_runs_alone() -> None:
    document = MaskDescriptor.from_trapezoids(4096, 4096, Trapezoids.of(0, 4096, 0, 0, 1, 1))
    packed = MaskDescriptor.concatenate([document] * 1000)
    assert packed.q_len == packed.kv_len == 4_096_000
    assert packed.visible_pairs == 1000 * document.visible_pairs
    assert packed.num_pieces == 1000


def test_what_cannot_be_packed_is_refused() -> None:
    with pytest.raises(TypeError, match="takes MaskDescriptors, got str at place 1"):
        MaskDescriptor.concatenate([CAUSAL, "mask"])  # type: ignore[list-item]
    large = MaskDescriptor(2**30, 0, CAUSAL.slice_queries(0, 0).runs)
    with pytest.raises(ValueError, match="the first 2 masks are 2147483648 x 0 together, more than 2147483647"):
        MaskDescriptor.concatenate([large, large])


@law
@given(descriptors(), st.integers(0, 5), st.integers(0, 5))
def test_padding_adds_empty_queries_and_unseen_keys_only(mask: MaskDescriptor, rows: int, keys: int) -> None:
    padded = mask.pad_to(mask.q_len + rows, mask.kv_len + keys)
    assert np.array_equal(padded.dense(), np.pad(mask.dense(), ((0, rows), (0, keys))))
    assert padded.empty_rows == mask.empty_rows + rows
    assert padded.unseen_keys == mask.unseen_keys + keys
    assert padded.slice_queries(0, mask.q_len).slice_keys(0, mask.kv_len) == mask
    empty = MaskDescriptor(rows, keys, rectangle(0, 0, 0, 0))
    assert padded == MaskDescriptor.concatenate([mask, empty])


@pytest.mark.parametrize("lengths", [(7, 8), (8, 7), (-1, 8)])
def test_padding_does_not_cut(lengths: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=rf"8 x 8 does not fit {lengths[0]} x {lengths[1]}"):
        CAUSAL.pad_to(*lengths)


@law
@given(descriptors(), st.data())
def test_the_chunks_of_a_prompt_together_are_the_whole(mask: MaskDescriptor, data: st.DataObject) -> None:
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, mask.q_len), max_size=3))), mask.q_len]
    chunks = [mask.for_decode(start, stop) for start, stop in pairwise(cuts)]
    assert np.array_equal(np.concatenate([chunk.dense() for chunk in chunks]), mask.dense())
    assert all(chunk.kv_len == mask.kv_len for chunk in chunks)


def test_a_decoding_step_reads_the_cache_as_far_as_it_is_filled() -> None:
    step = CAUSAL.for_decode(5, 6, kv_len=6)
    assert (step.q_len, step.kv_len, step.visible_pairs) == (1, 6, 6)
    chunk = CAUSAL.for_decode(4, 8, kv_len=8)
    assert chunk.dense().sum(1).tolist() == [5, 6, 7, 8]
    with pytest.raises(ValueError, match=r"queries \[4, 6\) see 1 pairs with keys from 5 on"):
        CAUSAL.for_decode(4, 6, kv_len=5)


def test_two_ranks_with_zigzag_rows_see_what_one_does() -> None:
    """Two causal documents of 4, rows split over two ranks: consecutive, then in a zigzag."""
    mask = MaskDescriptor.concatenate([CAUSAL.slice_queries(0, 4).slice_keys(0, 4)] * 2)
    assert mask.slice_queries(4, 8).dense().sum(1).tolist() == [1, 2, 3, 4]
    halves = [mask.slice_queries(start, start + 2) for start in (0, 2, 4, 6)]
    first, second = [halves[0], halves[3]], [halves[1], halves[2]]
    assert [part.visible_pairs for part in first] == [3, 7]
    assert [part.visible_pairs for part in second] == [7, 3]
    assert sum(part.visible_pairs for part in halves) == mask.visible_pairs == 20
