"""The presets see exactly the cells of their published definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracles import ODD_SIZES, ORACLES

from compilemask.lowering import lower
from compilemask.presets import preset_names, preset_source
from compilemask.semantics import check
from compilemask.semantics.program import CheckedMask
from compilemask.syntax import parse


def checked(source: str) -> CheckedMask:
    tree, messages = parse(source)
    assert not [m for m in messages if m.severity == "error"], messages
    mask, messages = check(tree, source)
    assert mask is not None, messages
    return mask


CASES = [
    pytest.param(name, values, id=f"{name}-{number}")
    for name, sizes in ODD_SIZES.items()
    for number, values in enumerate(sizes)
]


def test_every_core_preset_has_an_oracle():
    assert set(ORACLES) <= set(preset_names())
    assert set(ODD_SIZES) == set(ORACLES)


@pytest.mark.parametrize(("name", "values"), CASES)
def test_a_preset_sees_the_cells_of_its_definition(name: str, values: dict[str, Any]):
    descriptor = lower(checked(preset_source(name)), values).descriptor
    expected = ORACLES[name](**values)
    assert descriptor.dense().shape == expected.shape
    np.testing.assert_array_equal(descriptor.dense(), expected)


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_the_small_and_medium_examples_see_the_cells_of_the_definition(name: str):
    mask = checked(preset_source(name))
    for example in mask.examples:
        values = dict(example.values)
        if example.name == "large":
            continue
        np.testing.assert_array_equal(lower(mask, values).descriptor.dense(), ORACLES[name](**values))
