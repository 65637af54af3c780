"""The masks of the benchmark tables: predicates written for FlexAttention hold the cells of their presets."""

from __future__ import annotations

import pytest
import torch

from benchmarks.masks import MASKS, preset_masks
from benchmarks.preset_sizes import SIZES, near
from compilemask import preset_names

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", MASKS)
def test_a_closed_form_has_the_cells_of_its_preset(name: str) -> None:
    mask = MASKS[name].descriptor(1024)
    mask_mod = MASKS[name].mask_mod(1024, CPU)
    assert mask_mod is not None
    q, k = torch.arange(mask.q_len)[:, None], torch.arange(mask.kv_len)[None]
    assert torch.equal(mask_mod(0, 0, q, k), torch.from_numpy(mask.dense()))


@pytest.mark.parametrize("name", MASKS)
def test_workloads_have_exactly_the_lengths_of_the_table(name: str) -> None:
    mask = MASKS[name].descriptor(8192)
    assert (mask.q_len, mask.kv_len) == (8192, 8192)


def test_presets_scale_to_a_length() -> None:
    masks = preset_masks()
    assert set(masks) == set(SIZES) & set(preset_names())
    for name, mask in masks.items():
        descriptor = mask.descriptor(1024)
        assert near(1024, descriptor.q_len, descriptor.kv_len), name
        assert descriptor.visible_pairs > 0
