"""MaskDescriptor: statistics, other forms and algebra against the dense mask."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_cells import Shape, cells_of_dense, cells_of_shapes, dense_of, intervals, trapezoids
from strategies import descriptors

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import RunSet, Trapezoids, normalize
from compilemask.geometry.runs import SHAPE_ARRAYS

law = settings(max_examples=200, derandomize=True, deadline=None)


@law
@given(descriptors())
def test_statistics_are_those_of_the_dense_mask(descriptor: MaskDescriptor) -> None:
    dense = descriptor.dense()
    assert dense.shape == (descriptor.q_len, descriptor.kv_len)
    rows = dense.any(axis=1)
    assert descriptor.visible_pairs == dense.sum()
    assert descriptor.density == (dense.mean() if dense.size else 0.0)
    assert descriptor.empty_rows == (~rows).sum()
    assert descriptor.first_empty_row == (int(np.argmin(rows)) if not rows.all() else None)
    assert descriptor.unseen_keys == (~dense.any(axis=0)).sum()
    per_row = [len(intervals(np.flatnonzero(row).tolist())) // 2 for row in dense]
    assert descriptor.runs_per_row_max == max(per_row, default=0)
    assert descriptor.runs_per_row_mean == (sum(per_row) / len(per_row) if per_row else 0.0)


@law
@given(descriptors())
def test_merged_trapezoids_are_disjoint_ordered_and_cover_the_cells(descriptor: MaskDescriptor) -> None:
    merged = descriptor.trapezoids()
    drawn: list[Shape] = [
        tuple(int(getattr(merged, name)[i]) for name in Trapezoids.__annotations__)  # type: ignore[misc]
        for i in range(len(merged))
    ]
    cells = cells_of_shapes(drawn)
    assert cells == cells_of_dense(descriptor.dense())
    assert sum(len(cells_of_shapes([shape])) for shape in drawn) == len(cells)
    starts = [(shape[0], shape[2] * shape[0] + shape[3]) for shape in drawn]
    assert starts == sorted(set(starts))
    assert all(s[2] * q + s[3] < s[4] * q + s[5] for s in drawn for q in range(s[0], s[1])), "a row has no cell"
    assert descriptor.num_runs == len(merged) <= descriptor.runs.num_runs


@law
@given(descriptors(), st.data())
def test_row_intervals_are_the_maximal_intervals_of_each_row(descriptor: MaskDescriptor, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, descriptor.q_len))
    stop = data.draw(st.integers(start, descriptor.q_len))
    indptr, lo, hi = descriptor.row_intervals(start, stop)
    assert len(indptr) == stop - start + 1
    for i, row in enumerate(descriptor.dense()[start:stop]):
        flat = np.stack([lo, hi], axis=1)[indptr[i] : indptr[i + 1]].ravel().tolist()
        assert tuple(flat) == intervals(np.flatnonzero(row).tolist())


@law
@given(descriptors(q_len=9, kv_len=12), descriptors(q_len=9, kv_len=12))
def test_operators_are_those_of_the_dense_masks(a: MaskDescriptor, b: MaskDescriptor) -> None:
    assert np.array_equal((a & b).dense(), a.dense() & b.dense())
    assert np.array_equal((a | b).dense(), a.dense() | b.dense())
    assert np.array_equal((a - b).dense(), a.dense() & ~b.dense())
    assert np.array_equal((~a).dense(), ~a.dense())
    assert ~(a & b) == ~a | ~b
    assert hash(~~a) == hash(a)
    assert (a == b) == np.array_equal(a.dense(), b.dense()) == (a.hash == b.hash)


@law
@given(descriptors(), st.data())
def test_transpose_and_slices_are_those_of_the_dense_mask(descriptor: MaskDescriptor, data: st.DataObject) -> None:
    dense = descriptor.dense()
    assert np.array_equal(descriptor.transpose().dense(), dense.T)
    q = sorted(data.draw(st.tuples(*[st.integers(0, descriptor.q_len)] * 2)))
    k = sorted(data.draw(st.tuples(*[st.integers(0, descriptor.kv_len)] * 2)))
    assert np.array_equal(descriptor.slice_queries(*q).dense(), dense[q[0] : q[1]])
    assert np.array_equal(descriptor.slice_keys(*k).dense(), dense[:, k[0] : k[1]])


def causal(n: int) -> MaskDescriptor:
    return MaskDescriptor.from_trapezoids(n, n, Trapezoids.of(0, n, 0, 0, 1, 1))


def test_known_masks_have_the_runs_that_one_would_draw() -> None:
    n = 4096
    assert (causal(n).num_runs, causal(n).visible_pairs) == (1, n * (n + 1) // 2)
    window = Trapezoids.of([0, 255], [255, n], [0, 1], [0, -255], 1, 1)
    assert MaskDescriptor.from_trapezoids(n, n, window).num_runs == 2
    history = 3000
    hstu = Trapezoids.of([0, history, history], [history, n, n], [0, 0, 1], 0, [1, 0, 1], [1, history, 1])
    assert MaskDescriptor.from_trapezoids(n, n, hstu).num_runs == 3
    prompt, each = 1024, (n - 1024) // 6
    starts = prompt + each * np.arange(6)
    shared = Trapezoids.concat(
        [
            Trapezoids.of(0, prompt, 0, 0, 1, 1),
            Trapezoids.rectangle(prompt, n, 0, prompt),
            Trapezoids.of(starts, starts + each, 0, starts, 1, 1),
        ]
    )
    # the first response touches the prompt: it goes on being causal; the other five are one and the same
    mask = MaskDescriptor.from_trapezoids(n, n, shared)
    assert (mask.num_runs, mask.num_families) == (7, 3)
    assert str(mask).endswith(f"7 runs in 3 families, hash {mask.hash[:12]})")


def test_runs_go_through_one_row_pieces_of_other_runs() -> None:
    ends = np.array([5, 9, 3, 8, 1, 6, 2])
    ragged = Trapezoids.rectangle(np.arange(7), np.arange(1, 8), 0, ends)
    both = Trapezoids.concat([ragged, Trapezoids.of(0, 7, 1, 12, 1, 15)])
    descriptor = MaskDescriptor.from_trapezoids(7, 30, both)
    assert descriptor.num_pieces == 6
    assert descriptor.num_runs == 7


def test_equal_masks_are_equal_and_others_are_not() -> None:
    split = Trapezoids.of([7, 0], [20, 7], 0, 0, 1, 1)
    assert MaskDescriptor.from_trapezoids(20, 20, split) == causal(20)
    assert MaskDescriptor.from_trapezoids(20, 20, split).hash == causal(20).hash
    assert len({causal(20), MaskDescriptor.from_trapezoids(20, 20, split), causal(21)}) == 2
    wider = MaskDescriptor(20, 21, causal(20).runs)
    assert wider != causal(20)
    assert wider.hash != causal(20).hash
    assert causal(20) != "causal"


def test_the_hash_is_the_same_on_every_machine_and_in_every_release() -> None:
    assert causal(8).hash == "b14fe884eaa8a9b42d94631446c72051314efcbcafdcc86b825c3bfff8f1bb9d"


def test_nothing_that_a_descriptor_hands_out_can_be_written_to() -> None:
    for mask in (
        causal(8),
        MaskDescriptor.from_trapezoids(9, 9, Trapezoids.rectangle([0, 3, 6], [3, 6, 9], 0, [3, 6, 9])),
    ):
        families = mask.families()
        arrays = [mask.runs.lo_slope, families.counts, families.steps]
        for shapes in (mask.trapezoids(), families.first):
            arrays += [getattr(shapes, name) for name in SHAPE_ARRAYS]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array += 1


def test_a_descriptor_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="use & for and"):
        causal(4) and causal(4)
    with pytest.raises(TypeError, match="~ for not"):
        not causal(4)


def test_operators_name_both_shapes_when_they_differ() -> None:
    for operate in (lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a - b):
        with pytest.raises(ValueError, match="needs masks of one shape, got 4 x 4 and 5 x 5"):
            operate(causal(4), causal(5))
    with pytest.raises(TypeError, match="& needs a MaskDescriptor on both sides, got int"):
        causal(4) & 3  # type: ignore[operator]


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((0, 5, 0, 0, 0, 4), r"rows must lie in \[0, 4\), got rows 0 to 4"),
        ((-1, 4, 0, 0, 0, 4), r"rows must lie in \[0, 4\), got rows -1 to 3"),
        ((0, 4, 0, 0, 1, 2), r"keys must lie in \[0, 4\), got keys 0 to 4"),
        ((0, 4, -1, 2, 0, 4), r"keys must lie in \[0, 4\), got keys -1 to 3"),
    ],
)
def test_runs_outside_of_the_mask_are_refused(shape: Shape, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MaskDescriptor.from_trapezoids(4, 4, trapezoids([shape]))


@pytest.mark.parametrize("length", [-1, 2**31, True, 4.0, "4", None])
def test_lengths_that_are_none_are_refused(length: object) -> None:
    with pytest.raises(ValueError, match="q_len must be an integer from 0 to 2147483647"):
        MaskDescriptor(length, 4, RunSet.empty())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="kv_len must be an integer from 0 to 2147483647"):
        MaskDescriptor(4, length, RunSet.empty())  # type: ignore[arg-type]


def raw(start: list[int], stop: list[int], indptr: list[int], *ends: list[int]) -> RunSet:
    return RunSet(*(np.array(a, np.int64) for a in (start, stop, indptr, *ends)))


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (raw([0, 2], [2, 4], [0, 1, 2], [0, 0], [0, 0], [0, 0], [4, 4]), "not cut canonically"),
        (raw([0], [1], [0, 1], [1], [0], [0], [4]), "not cut canonically"),
        (raw([0], [4], [0, 2], [0, 0], [0, 2], [0, 0], [2, 4]), "must not touch"),
        (raw([0], [4], [0, 1], [0], [2], [0], [2]), "not empty"),
        (raw([0], [4], [0, 1], [1], [0], [0], [3]), "not empty"),
        (raw([2, 0], [4, 2], [0, 1, 2], [0, 0], [0, 0], [0, 0], [2, 4]), "pieces of runs must be ascending"),
        (raw([0], [0], [0, 1], [0], [0], [0], [4]), "pieces of runs must be ascending"),
        (raw([0], [4], [0, 0], [], [], [], []), "every piece needs a run"),
        (raw([0], [4], [0, 2], [0], [0], [0], [4]), "inconsistent"),
        (raw([0], [4], [0, 1], [0], [0], [0, 0], [4]), "inconsistent"),
        (raw([0], [4], [0, 1], [2**62], [0], [2**62], [4]), r"within 2\*\*61"),
        (raw([0, 1], [1, 2], [0, 2, 1], [0], [0], [0], [4]), "every piece needs a run"),
    ],
)
def test_runs_that_are_not_canonical_are_refused(runs: RunSet, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MaskDescriptor(4, 4, runs)


def test_large_masks_are_not_made_dense_or_listed_by_accident() -> None:
    large = causal(2**20)
    with pytest.raises(ValueError, match="slice_queries"):
        large.dense()
    with pytest.raises(ValueError, match="fewer rows at a time"):
        causal(2**26).row_intervals()
    assert large.row_intervals(2**20 - 1)[2].tolist() == [2**20]
    with pytest.raises(ValueError, match=r"row range must satisfy 0 <= start <= stop <= 4, got \[2, 5\)"):
        causal(4).row_intervals(2, 5)
    with pytest.raises(ValueError, match=r"query range .* got \[3, 2\)"):
        causal(4).slice_queries(3, 2)


def test_statistics_of_the_largest_mask_are_exact() -> None:
    n = 2**31 - 1
    assert (causal(n).visible_pairs, causal(n).unseen_keys, causal(n).empty_rows) == (n * (n + 1) // 2, 0, 0)
    everything = MaskDescriptor.from_trapezoids(n, n, Trapezoids.rectangle(0, n, 0, n))
    assert everything.visible_pairs == n * n
    assert (~everything).visible_pairs == 0
    assert (everything.families().nbytes, everything.nbytes) == (6 * 8, 8 * 8)


def test_words_for_people() -> None:
    assert str(causal(8)) == f"MaskDescriptor(8 x 8, 36 visible, 1 run, hash {causal(8).hash[:12]})"
    assert normalize(Trapezoids.empty()).equal(MaskDescriptor(0, 3, RunSet.empty()).runs)


@law
@given(descriptors(q_len=7, kv_len=9))
def test_dense_and_back(descriptor: MaskDescriptor) -> None:
    q, k = np.nonzero(descriptor.dense())
    assert MaskDescriptor.from_trapezoids(7, 9, Trapezoids.rectangle(q, q + 1, k, k + 1)) == descriptor
    assert np.array_equal(dense_of(cells_of_dense(descriptor.dense()), 7, 9), descriptor.dense())
