"""Batches of masks: equal masks stored once, sizes of 1 stand for all, JSON in and out."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import descriptors

from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.geometry import Trapezoids

law = settings(max_examples=100, derandomize=True, deadline=None)


def causal(length: int) -> MaskDescriptor:
    return MaskDescriptor.from_trapezoids(length, length, Trapezoids.of(0, length, 0, 0, 1, 1))


@st.composite
def tables(draw: st.DrawFn) -> list[list[MaskDescriptor]]:
    """Few masks, each used several times."""
    pool = draw(st.lists(descriptors(), min_size=1, max_size=4))
    items, heads = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    return [[draw(st.sampled_from(pool)) for _ in range(heads)] for _ in range(items)]


BATCH = MaskBatch.of([[causal(3)], [causal(5)], [causal(3)]])


@law
@given(tables())
def test_each_item_and_head_has_its_mask_padded_to_the_longest(table: list[list[MaskDescriptor]]) -> None:
    batch = MaskBatch.of(table)
    assert (batch.num_items, batch.num_heads) == (len(table), len(table[0]))
    assert batch.q_len == max(mask.q_len for row in table for mask in row)
    assert batch.kv_len == max(mask.kv_len for row in table for mask in row)
    for b, row in enumerate(table):
        for h, mask in enumerate(row):
            found = batch.mask(b, h)
            assert found == mask.pad_to(batch.q_len, batch.kv_len)
            assert batch.item(b).mask(0, h) == batch.head(h).mask(b, 0) == found
    assert batch.visible_pairs == sum(mask.visible_pairs for row in table for mask in row)
    dense = np.stack([np.stack([batch.mask(b, h).dense() for h in range(len(table[0]))]) for b in range(len(table))])
    assert batch.density == (dense.mean() if dense.size else 0.0)


@law
@given(tables())
def test_equal_masks_are_stored_once_in_the_order_of_first_use(table: list[list[MaskDescriptor]]) -> None:
    batch = MaskBatch.of(table)
    padded = [mask.pad_to(batch.q_len, batch.kv_len) for row in table for mask in row]
    assert list(batch.masks) == list(dict.fromkeys(padded))
    assert [batch.masks[number] for number in batch.index.ravel()] == padded


@law
@given(tables())
def test_equality_hash_json_and_pickle_are_by_content(table: list[list[MaskDescriptor]]) -> None:
    batch = MaskBatch.of(table)
    text = batch.to_json()
    assert text.isascii() and "\n" not in text
    for same in (MaskBatch.from_json(text), MaskBatch.of(table), pickle.loads(pickle.dumps(batch))):
        assert same == batch
        assert same.hash == batch.hash and hash(same) == hash(batch)
        assert same.to_json() == text
    more = MaskBatch.of([*table, table[0]])
    assert more != batch and more.hash != batch.hash
    assert batch != table[0][0]


def test_a_size_of_one_stands_for_all_items_or_heads() -> None:
    assert BATCH.num_heads == 1 and BATCH.num_items == 3
    assert BATCH.mask(1, 0) is BATCH.mask(1, 17)
    assert BATCH.item(1).mask(40, 3).visible_pairs == 15
    with pytest.raises(ValueError, match=r"the item must lie in \[0, 3\), got 3"):
        BATCH.mask(3, 0)
    assert BATCH.mask(np.int64(1), np.uint8(0)) is BATCH.mask(1, 0)
    for number in (-1, True, 0.0, np.float64(0), "0"):
        with pytest.raises(ValueError, match="the head must be an integer from 0 on"):
            BATCH.mask(0, number)  # type: ignore[arg-type]


def test_the_memory_is_that_of_the_distinct_masks() -> None:
    masks = [causal(1000), causal(2000)]
    table = [[masks[(b + h) % 2] for h in range(24)] for b in range(64)]
    batch = MaskBatch.of(table)
    assert len(batch.masks) == 2
    assert batch.nbytes == masks[0].nbytes + masks[1].nbytes + 64 * 24 * 8


def test_what_is_no_batch_is_refused_at_birth() -> None:
    a, b = causal(3).pad_to(5, 5), causal(5)
    index = np.array([[0], [1]])
    assert MaskBatch(5, 5, (a, b), index) == MaskBatch.of([[a], [b]])
    for masks, wrong, words in [
        ((causal(3), b), index, "all masks of a batch must be 5 x 5, mask 0 is 3 x 3"),
        ((b, a), np.array([[1], [0]]), "in the order of their first use"),
        ((a, b), np.array([[0], [0]]), "and no others"),
        ((a, b), np.array([[0], [2]]), "and no others"),
        ((a, b), np.array([[0], [-1]]), "and no others"),
        ((a, a), index, "two masks of a batch are equal"),
        (
            (a, b),
            np.array([0, 1]),
            r"index must be integers \[num_items, num_heads\], 1 or more of each, got int64 \[2\]",
        ),
        ((a, b), np.array([[0.0], [1.0]]), "got float64"),
        ((), np.zeros((0, 1), int), "1 or more of each"),
    ]:
        with pytest.raises(ValueError, match=words):
            MaskBatch(5, 5, masks, wrong)
    with pytest.raises(ValueError, match="read-only"):
        BATCH.index[0, 0] = 1


@pytest.mark.parametrize(
    ("table", "words"),
    [([], "got 0 rows of no masks"), ([[]], "got 1 rows of 0 masks"), ([[causal(2)], []], "got 2 rows of 0, 1 masks")],
)
def test_a_table_that_is_none_is_refused(table: list[list[MaskDescriptor]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MaskBatch.of(table)


def test_a_table_holds_masks() -> None:
    with pytest.raises(TypeError, match="a batch is made of MaskDescriptors, got ndarray"):
        MaskBatch.of([[np.ones((2, 2), bool)]])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"a batch is a table of masks, such as .*, got MaskDescriptor$"):
        MaskBatch.of(causal(2))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a batch is a table of masks, such as .*, got MaskDescriptor as row 0$"):
        MaskBatch.of([causal(2)])  # type: ignore[list-item]


def test_the_lengths_may_be_integers_of_numpy() -> None:
    batch = MaskBatch(np.int64(2), np.int64(2), (causal(2),), np.zeros((1, 1), np.int64))  # type: ignore[arg-type]
    same = MaskBatch.of([[causal(2)]])
    assert (batch.hash, batch.to_json()) == (same.hash, same.to_json())


def text(**changes: object) -> str:
    value = json.loads(BATCH.to_json()) | changes
    return json.dumps({key: item for key, item in value.items() if item != "left out"})


def test_the_text_of_version_2_stays_as_it_is_and_that_of_version_1_is_read() -> None:
    text = (
        '{"format":"compilemask.batch","version":2,"q_len":5,"kv_len":5,'
        '"masks":[[[0,3,0,0,1,1]],[[0,5,0,0,1,1]]],"index":[[0],[1],[0]]}'
    )
    assert BATCH.to_json() == text
    old = MaskBatch.from_json(text.replace('"version":2', '"version":1'))
    assert old == BATCH
    assert old.hash == BATCH.hash


@pytest.mark.parametrize(
    ("hostile", "words"),
    [
        ("[" * 100_000, "a batch must be JSON"),
        ("null", "a batch must be a JSON object, got null"),
        (causal(3).to_json(), '"format": "compilemask.batch", got "compilemask.descriptor"'),
        (text(version=3), "this batch has version 3, this program reads up to 2"),
        (text(version=10**99), "this batch has version 1000"),
        (text(index="left out"), '"index" is missing'),
        (text(extra=1), '"extra" is not a key of a batch'),
        (BATCH.to_json().replace('"kv_len":5', '"kv_len":5,"kv_len":5'), 'a batch has the key "kv_len" more than once'),
        (text(masks=[[[0, 3, 0, 0, 1, 1]] * 2, []]), "runs must not overlap, got 12 cells of which 6 are different"),
        (text(masks={}), '"masks" must be a list, got an object'),
        (text(masks=[1]), "mask 0 must be a list, got 1"),
        (text(masks=[[], [[0, 3, 0, 0, 1]]]), "run 0 of mask 1 must be a list of 6 or 11 or 16 or 21 integers"),
        (text(version=1, masks=[[[0, 3, 0, 0, 1]], []]), "trapezoid 0 of mask 0 must be a list of 6 integers"),
        (text(masks=[[[0, 1, 0, 0, 0, 1, 2**22, 0, 0, 0, 0]]] * 3, index=[[0], [1], [2]]), "stands for 12582912 runs"),
        (text(masks=[[[0, 9, 0, 0, 1, 1]], [[0, 5, 0, 0, 1, 1]]]), r"rows must lie in \[0, 5\)"),
        (text(masks=[[[0, 3, 0, 0, 1, 1]]] * 2), "two masks of a batch are equal"),
        (text(index={}), '"index" must be a list, got an object'),
        (text(index=[]), "1 or more of each, got int64"),
        (text(index=[[]]), "1 or more of each, got int64"),
        (text(index=[0, 1]), "row 0 of the index must be a list"),
        (text(index=[[0], [1, 0]]), "row 1 of the index must be a list as long as row 0"),
        (text(index=[[0], [2]]), r"integers in \[0, 2\), got 2"),
        (text(index=[[0], [True]]), r"integers in \[0, 2\), got true"),
        (text(index=[[0], [10**30]]), r"integers in \[0, 2\)"),
        (text(index=[[1], [0]]), "in the order of their first use"),
    ],
)
def test_hostile_texts_get_one_line_that_says_what_is_wrong(hostile: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        MaskBatch.from_json(hostile)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
