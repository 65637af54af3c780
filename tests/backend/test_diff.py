"""Two masks beside each other, against dense arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compilemask_studio.services.diff_service import difference_pixels
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask import compile
from compilemask.descriptor import MaskDescriptor
from compilemask.presets import preset_source

WINDOW = "mask w(n: int, r: int)\ntokens { S: n }\nS sees S where abs(q - k) <= r"


@pytest.fixture
def client(shared_client: TestClient) -> TestClient:
    return shared_client


def diff(client: TestClient, left: tuple[str, dict[str, Any]], right: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    sides = [{"source": source, "values": values} for source, values in (left, right)]
    response = client.post("/api/diff", json={"left": sides[0], "right": sides[1]})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def dense(source: str, values: dict[str, Any]) -> np.ndarray:
    mask = compile(source).bind(**values)
    assert isinstance(mask, MaskDescriptor)
    return mask.dense()


def padded(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shape = np.maximum(left.shape, right.shape)
    return tuple(
        np.pad(cells, [(0, n - m) for n, m in zip(shape, cells.shape, strict=True)]) for cells in (left, right)
    )  # type: ignore[return-value]


def first_cell(cells: np.ndarray) -> dict[str, int] | None:
    places = np.argwhere(cells)
    return None if len(places) == 0 else {"q": int(places[0][0]), "k": int(places[0][1])}


PAIRS = {
    "other rules": ((WINDOW, {"n": 40, "r": 3}), (preset_source("causal"), {"n": 40})),
    "other lengths": ((WINDOW, {"n": 40, "r": 3}), (WINDOW, {"n": 31, "r": 5})),
    "added only": ((WINDOW, {"n": 40, "r": 3}), (WINDOW, {"n": 40, "r": 4})),
    "nothing": ((WINDOW, {"n": 40, "r": 3}), (WINDOW, {"n": 40, "r": 3})),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_the_difference_is_that_of_the_cells(client: TestClient, pair: Any) -> None:
    cells = diff(client, *pair)["cells"]
    left, right = padded(*(dense(*side) for side in pair))
    assert (cells["q_len"], cells["kv_len"]) == left.shape
    assert cells["common"] == np.sum(left & right)
    assert cells["removed"] == np.sum(left & ~right)
    assert cells["added"] == np.sum(right & ~left)
    assert cells["first_removed"] == first_cell(left & ~right)
    assert cells["first_added"] == first_cell(right & ~left)
    tile = client.get(f"/api/diff/{cells['left_hash']}/{cells['right_hash']}/tiles/0/0/0").content
    pixels = np.frombuffer(tile, np.uint8).reshape(256, 256)[: left.shape[0], : left.shape[1]]
    wanted = np.where(right & ~left, 1 * 64 + 63, np.where(left & ~right, 2 * 64 + 63, np.where(left & right, 63, 0)))
    assert np.array_equal(pixels, wanted)


def test_masks_with_the_same_cells_are_the_same_whatever_their_texts(client: TestClient) -> None:
    text = "mask other(n: int)\ntokens { A: n }\nA sees A where k <= q"
    answer = diff(client, (preset_source("causal"), {"n": 50}), (text, {"n": 50}))
    cells = answer["cells"]
    assert (cells["same"], cells["same_size"], cells["added"], cells["removed"]) == (True, True, 0, 0)
    assert answer["left"]["program"]["name"] == "causal"
    assert answer["right"]["program"]["name"] == "other"


def test_equal_cells_in_unlike_sizes_are_not_the_same_mask(client: TestClient) -> None:
    text = "mask none(n: int)\ntokens { A: n }\nA sees A where k < 0 and q < 0"
    cells = diff(client, (text, {"n": 5}), (text, {"n": 6}))["cells"]
    assert (cells["same"], cells["same_size"], cells["added"], cells["removed"]) == (False, False, 0, 0)


def test_a_broken_side_has_its_messages_and_there_are_no_cells(client: TestClient) -> None:
    answer = diff(client, (WINDOW.replace("sees", "seas"), {}), (WINDOW, {"n": 4, "r": 1}))
    assert answer["cells"] is None
    assert any(message["severity"] == "error" for message in answer["left"]["diagnostics"])
    assert answer["right"]["mask"] is not None


def test_tiles_outside_and_of_unknown_masks_are_refused(client: TestClient) -> None:
    cells = diff(client, *PAIRS["other rules"])["cells"]
    pair = f"{cells['left_hash']}/{cells['right_hash']}"
    for path, code in ((f"{pair}/tiles/0/1/0", "tile_unknown"), (f"{pair}/tiles/1/0/0", "tile_unknown"),
                       (f"{'0' * 64}/{cells['right_hash']}/tiles/0/0/0", "mask_unknown")):  # fmt: skip
        answer = client.get(f"/api/diff/{path}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, code)


@settings(max_examples=80, derandomize=True, deadline=None)
@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_no_difference_vanishes_in_a_pixel(densities: tuple[int, int, int]) -> None:
    common, removed, added = (np.full((1, 1), density, np.uint8) for density in densities)
    byte = int(difference_pixels(common, removed, added)[0, 0])
    kind, amount = divmod(byte, 64)
    assert kind == (added > 0) + 2 * (removed > 0)
    share = common if kind == 0 else min(int(added[0, 0]) + int(removed[0, 0]), 255)
    assert (amount == 0) == (share == 0)
    assert (amount == 63) == (share == 255)
