"""Which program of the Hopper backward has which rows: `locate` itself, as Python, for every program of a grid."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.attention.hopper import backward_order

Ints = npt.NDArray[np.int64]


class Pointer:
    """An address in an array, as far as the kernel moves it."""

    def __init__(self, values: Ints, at: int = 0) -> None:
        self.values, self.at = values, at

    def __add__(self, steps: int) -> Pointer:
        return Pointer(self.values, self.at + steps)


def places(
    orders: Ints, heavy: int, light: int, batch: int, heads: int, group: int, masks: Ints | None
) -> Iterator[tuple[int, int, int]]:
    """(tile, head of all items, number of its mask) of every program. orders [masks, tiles]; masks: of each head, or None."""
    kernel_language = SimpleNamespace(load=lambda pointer: int(pointer.values[pointer.at]))
    num_tiles = orders.shape[1]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(backward_order, "gl", kernel_language)
        for pid in range(num_tiles * batch * heads):
            tile, item, head, number = backward_order.locate.fn(
                pid, Pointer(orders.reshape(-1)), heavy, light, num_tiles, heads, batch * heads,
                None if masks is None else Pointer(masks), 1, group,
            )  # fmt: skip
            yield tile, item * heads + head, number


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(1, 9), st.integers(0, 9), st.integers(0, 9), st.integers(1, 2), st.integers(1, 3), st.integers(1, 2),
    st.integers(0, 3), st.randoms(use_true_random=False),
)  # fmt: skip
def test_every_tile_of_every_head_has_one_program_heavy_ones_first_light_ones_last(
    num_tiles: int,
    heavy: int,
    light: int,
    batch: int,
    key_heads: int,
    group: int,
    num_masks: int,
    chance: random.Random,
) -> None:
    heavy = min(heavy, num_tiles)
    light = min(light, num_tiles - heavy)
    heads = key_heads * group
    orders = np.array([chance.sample(range(num_tiles), num_tiles) for _ in range(max(1, num_masks))])
    masks = np.array([chance.randrange(num_masks) for _ in range(batch * heads)]) if num_masks else None
    found = list(places(orders, heavy, light, batch, heads, group, masks))
    assert sorted(x[:2] for x in found) == [(tile, head) for tile in range(num_tiles) for head in range(batch * heads)]
    assert all(number == (0 if masks is None else masks[head]) for _, head, number in found)
    ranks = [int(np.flatnonzero(orders[number] == tile)[0]) for tile, _, number in found]
    first, last = heavy * batch * heads, (num_tiles - light) * batch * heads
    assert all(rank < heavy for rank in ranks[:first])
    assert all(heavy <= rank < num_tiles - light for rank in ranks[first:last])
    # Light tiles rank by rank over all heads; the others key head by key head, each of its ranks for the whole group.
    assert ranks[last:] == sorted(ranks[last:])
    middle = [(head // group, rank) for (_, head, _), rank in zip(found[first:last], ranks[first:last], strict=True)]
    assert middle == sorted(middle)
