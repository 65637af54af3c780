"""The masks of the benchmark tables: predicates written for FlexAttention hold the cells of their presets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.masks import MASKS, SHORT_LENGTH, preset_masks
from benchmarks.preset_sizes import SIZES, near
from compilemask import preset_names
from compilemask.attention.dense_mask import dense_rows

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", MASKS)
def test_a_closed_form_has_the_cells_of_its_preset(name: str) -> None:
    mask = MASKS[name].descriptor(1024)
    mask_mod = MASKS[name].mask_mod(1024, CPU)
    assert mask_mod is not None
    rows = range(mask.q_len) if mask.q_len <= 1024 else range(0, mask.q_len, mask.q_len // 127)
    q, k = torch.tensor(rows)[:, None], torch.arange(mask.kv_len)[None]
    seen = np.concatenate([dense_rows(mask, row, row + 1) for row in rows])
    assert torch.equal(mask_mod(0, 0, q, k), torch.from_numpy(seen))


@pytest.mark.parametrize("name", MASKS)
def test_workloads_have_exactly_the_lengths_of_the_table(name: str) -> None:
    length = MASKS[name].own_length or 8192
    mask = MASKS[name].descriptor(length)
    assert (mask.q_len, mask.kv_len) == (length, length)


@pytest.mark.parametrize("mean", [128, 256, 512])
def test_short_documents_and_responses_have_their_mean_length(mean: int) -> None:
    documents = MASKS[f"short_documents_{mean}"].values(SHORT_LENGTH)["lengths"]
    responses = MASKS[f"short_responses_{mean}"].values(SHORT_LENGTH)["responses"]
    for lengths in (documents, responses):
        assert isinstance(lengths, list)
        assert np.mean(lengths) == pytest.approx(mean, rel=0.05)


def test_presets_scale_to_a_length() -> None:
    masks = preset_masks()
    assert set(masks) == set(SIZES) & set(preset_names())
    for name, mask in masks.items():
        descriptor = mask.descriptor(1024)
        assert near(1024, descriptor.q_len, descriptor.kv_len), name
        assert descriptor.visible_pairs > 0
