"""The store of plans on devices: bounded, shared between threads, built once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of

from compilemask.attention import mask_tensors
from compilemask.attention.mask_tensors import MaskTensorCache
from compilemask.attention.upload import upload_together

CPU = torch.device("cpu")


def test_equal_masks_share_one_entry_and_tilings_do_not() -> None:
    store = MaskTensorCache()
    left, right = descriptor_of(causal(40, 40)), descriptor_of(causal(40, 40))
    assert store.get(left, 16, 16, CPU) is store.get(right, 16, 16, CPU)
    assert store.get(left, 16, 32, CPU).plan.block_n == 32
    assert len(store) == 2


def test_the_least_recently_used_entry_goes_first() -> None:
    store = MaskTensorCache(max_entries=2)
    masks = [descriptor_of(causal(n, n)) for n in (5, 6, 7)]
    first, second = (store.get(mask, 16, 16, CPU) for mask in masks[:2])
    assert store.get(masks[0], 16, 16, CPU) is first
    store.get(masks[2], 16, 16, CPU)
    assert len(store) == 2
    assert store.get(masks[0], 16, 16, CPU) is first
    assert store.get(masks[1], 16, 16, CPU) is not second


def test_threads_that_ask_for_one_missing_entry_build_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    everybody_waits = threading.Barrier(8)
    plan_tiles = mask_tensors.plan_tiles

    def counted(*arguments: object) -> object:
        built.append(arguments)
        return plan_tiles(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(mask_tensors, "plan_tiles", counted)
    store, mask = MaskTensorCache(), descriptor_of(causal(40, 40))

    def ask() -> mask_tensors.MaskTensors:
        everybody_waits.wait()
        return store.get(mask, 16, 16, CPU)

    with ThreadPoolExecutor(8) as pool:
        answers = [future.result() for future in [pool.submit(ask) for _ in range(8)]]
    assert len(built) == 1
    assert all(answer is answers[0] for answer in answers)


def test_arrays_that_travel_together_arrive_as_they_were_each_on_an_address_of_its_own() -> None:
    rng = np.random.default_rng(0)
    shapes = [(5,), (0,), (4,), (3, 7), (0, 16), (1,)]
    arrays = {str(i): rng.integers(-9, 9, shape, dtype=np.int32) for i, shape in enumerate(shapes)}
    arrays["3"].setflags(write=False)
    found = upload_together(arrays, CPU)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        tensor = found[name]
        assert tensor.dtype == torch.int32 and tensor.is_contiguous() and tensor.data_ptr() % 16 == 0
        assert tensor.shape == (array.shape if array.size else (1, *array.shape[1:]))
        assert not array.size or np.array_equal(tensor.numpy(), array)
    assert len({tensor.data_ptr() for tensor in found.values()}) == len(arrays)


def test_a_mask_without_any_cell_has_tensors_all_the_same() -> None:
    tensors = MaskTensorCache().get(descriptor_of(np.zeros((20, 0), bool)), 16, 16, CPU)
    assert (tensors.max_gaps, tensors.num_heavy, tensors.plan.num_q_tiles) == (0, 0, 2)
    assert all(getattr(tensors, name).numel() > 0 for name in ("full_start", "interval_start", "gap_ends", "ends"))
