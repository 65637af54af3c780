"""An exported module of a batch rebuilds all of its masks."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from compilemask.compiler import compile
from compilemask.descriptor import MaskBatch
from compilemask.export import python_source

SOURCE = """mask m(n: int, a: int[] per item, wide: bool per head)
tokens { S: n; D[i]: a[i] }
S sees S causal or wide
D sees S
"""


def exported(text: str) -> dict[str, Any]:
    module: dict[str, Any] = {"__name__": "exported"}
    exec(builtins.compile(text, "m.py", "exec", dont_inherit=True), module)
    return module


@pytest.mark.parametrize(
    "values",
    [
        {"n": 3, "a": ((1, 2), (3,), ()), "wide": (True, False)},
        {"n": 3, "a": (1, 2), "wide": (True, False, True)},
        {"n": 3, "a": (1, 2), "wide": True},
    ],
)
def test_all_masks_are_rebuilt(values: dict[str, Any]) -> None:
    batch = compile(SOURCE).bind(**values)
    assert isinstance(batch, MaskBatch)
    text = python_source("m", SOURCE, values, batch)
    assert text.startswith(f'"""{batch.num_items} x {batch.num_heads} (items x heads) attention masks of ')
    module = exported(text)
    assert module["mask"]() == batch
    assert module["mask"].__annotations__["return"] is MaskBatch


def test_another_batch_than_the_exported_one_is_an_error() -> None:
    values = {"n": 3, "a": ((1,), (3,)), "wide": True}
    other = compile(SOURCE).bind(n=3, a=[[3], [1]], wide=True)
    with pytest.raises(RuntimeError, match="makes another mask of this text than the one that was exported"):
        exported(python_source("m", SOURCE, values, other))["mask"]()
