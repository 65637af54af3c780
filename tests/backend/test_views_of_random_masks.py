"""Every view that the server gives of a mask tells the same cells: those that a plain reading of its text counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from brute_force import visible_cells
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_programs import Program, programs

from compilemask import MaskDescriptor
from compilemask.compiler import analyse

law = settings(max_examples=15, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
BLOCKS = {"block_m": 16, "block_n": 16}


@pytest.fixture
def client(shared_client: TestClient) -> TestClient:
    return shared_client


def cells_of(program: Program) -> np.ndarray:
    """Counted one by one; programs without a mask are left out."""
    analysis = analyse(program.source, program.values)
    assume(not analysis.failed and analysis.program is not None)
    cells = visible_cells(analysis.program._checked, program.values)
    assume(min(cells.shape) > 0)
    return cells


def body_of(program: Program) -> dict[str, Any]:
    return {"source": program.source, "values": program.values}


def answer(response: Any) -> Any:
    assert response.status_code == 200, response.text
    return response.json()


def compiled(client: TestClient, program: Program) -> Any:
    mask = answer(client.post("/api/compile", json=body_of(program) | BLOCKS))["mask"]
    assume(mask is not None)
    return mask


def tile(client: TestClient, path: str) -> np.ndarray:
    response = client.get(path)
    assert response.status_code == 200, response.text
    return np.frombuffer(response.content, np.uint8).reshape(256, 256)


def shares(cells: np.ndarray, z: int) -> tuple[np.ndarray, np.ndarray]:
    """For each pixel of level z: how many of its cells there are, and how many are set."""
    q_len, kv_len = cells.shape
    padded = np.zeros((256 << z, 256 << z), np.int64)
    exists = padded.copy()
    padded[:q_len, :kv_len], exists[:q_len, :kv_len] = cells, 1
    return tuple(part.reshape(256, 1 << z, 256, 1 << z).sum(axis=(1, 3)) for part in (exists, padded))  # type: ignore[return-value]


def filled(shape: tuple[int, int], rows: list[tuple[int, int, int]]) -> np.ndarray:
    cells = np.zeros(shape, bool)
    for q, start, stop in rows:
        assert not cells[q, start:stop].any(), "intervals are disjoint"
        cells[q, start:stop] = True
    return cells


@law
@given(programs())
def test_tiles_rows_columns_and_runs_are_the_cells(client: TestClient, program: Program) -> None:
    cells = cells_of(program)
    mask = compiled(client, program)
    base = f"/api/masks/{mask['hash']}"
    assert mask["statistics"]["visible_pairs"] == cells.sum()
    assert mask["statistics"]["empty_rows"] == (~cells.any(axis=1)).sum()
    assert mask["statistics"]["unseen_keys"] == (~cells.any(axis=0)).sum()
    for z in range(mask["levels"]):
        exist, seen = shares(cells, z)
        density = tile(client, f"{base}/tiles/{z}/0/0")
        assert ((density == 0) == (seen == 0)).all()
        assert ((density == 255) == ((seen == exist) & (seen > 0))).all()
    for q in {0, len(cells) // 2, len(cells) - 1}:
        row = answer(client.get(f"{base}/rows/{q}"))
        assert (filled((1, cells.shape[1]), [(0, *ends) for ends in row["intervals"]])[0] == cells[q]).all()
        assert (row["pairs"], row["total"]) == (cells[q].sum(), len(row["intervals"]))
    for k in {0, cells.shape[1] // 2, cells.shape[1] - 1}:
        column = answer(client.get(f"{base}/columns/{k}"))
        assert (filled((1, len(cells)), [(0, *ends) for ends in column["intervals"]])[0] == cells[:, k]).all()
    runs = answer(client.get(f"{base}/runs?limit=1000"))["rows"]
    rows = [
        (q, run["lo_slope"] * q + run["lo_offset"], run["hi_slope"] * q + run["hi_offset"])
        for run in runs
        for q in range(run["q_start"], run["q_stop"])
    ]
    assert (filled(cells.shape, rows) == cells).all()
    q, k = (len(cells) * 2) // 3, cells.shape[1] // 3
    number = answer(client.get(f"{base}/run-at/{q}/{k}"))["number"]
    assert (number is not None) == cells[q, k]
    if number is not None:
        run = runs[number]
        assert run["q_start"] <= q < run["q_stop"]
        assert run["lo_slope"] * q + run["lo_offset"] <= k < run["hi_slope"] * q + run["hi_offset"]


@law
@given(programs(), st.integers(0, 2**20))
def test_rules_and_explanations_are_those_of_the_cells(client: TestClient, program: Program, seed: int) -> None:
    cells = cells_of(program)
    mask = compiled(client, program)
    rules = answer(client.post("/api/rules", json=body_of(program)))
    assert rules["hash"] == mask["hash"]
    parts = [
        tile(client, f"/api/masks/{part['hash']}/tiles/0/0/0")[: len(cells), : cells.shape[1]] == 255
        for part in rules["parts"]
    ]
    assert (np.logical_or.reduce(parts) == cells).all()
    picture = tile(client, f"/api/rules/{rules['key']}/tiles/0/0/0")[: len(cells), : cells.shape[1]]
    assert ((picture == 0) == ~cells).all()
    rng = np.random.default_rng(seed)
    for q, k in zip(rng.integers(0, len(cells), 4).tolist(), rng.integers(0, cells.shape[1], 4).tolist(), strict=True):
        told = answer(client.post("/api/explain", json=body_of(program) | {"q": q, "k": k}))
        assert told["visible"] == cells[q, k]
        showing = [part["line"] for part, inside in zip(rules["parts"], parts, strict=True) if inside[q, k]]
        if told["visible"]:
            assert [rule["line"] for rule in told["rules"]] == showing
            assert showing[0] == rules["parts"][picture[q, k] - 1]["line"]
        else:
            assert told["reason"] and not showing


@law
@given(programs())
def test_q_tiles_take_each_row_once_and_read_every_key_that_it_sees(client: TestClient, program: Program) -> None:
    cells = cells_of(program)
    base = f"/api/masks/{compiled(client, program)['hash']}"
    query = "block_m=16&block_n=16"
    total = answer(client.get(f"{base}/q-tiles?{query}&limit=1"))["total"]
    owner = answer(client.get(f"{base}/q-tiles-of-rows?{query}&start=0&step=1"))["tiles"][: len(cells)]
    read = np.zeros(cells.shape, bool)
    taken = np.full(len(cells), -1)
    for number in range(total):
        q_tile = answer(client.get(f"{base}/q-tiles/{number}?{query}"))
        rows = [q for start, stop in q_tile["rows"] for q in range(start, stop)]
        assert (taken[rows] == -1).all()
        taken[rows] = number
        for key_tile in q_tile["tiles"]:
            keys = [k for start, stop in key_tile["keys"] for k in range(start, min(stop, cells.shape[1]))]
            read[np.ix_(rows, keys)] = True
            if key_tile["full"]:
                assert cells[np.ix_(rows, keys)].all()
    assert not (cells & ~read).any()
    assert owner == taken.tolist()
    assert not cells[taken == -1].any()


@law
@given(programs(), programs())
def test_a_diff_counts_and_draws_the_cells_that_differ(client: TestClient, left: Program, right: Program) -> None:
    a, b = cells_of(left), cells_of(right)
    told = answer(client.post("/api/diff", json={"left": body_of(left), "right": body_of(right)}))["cells"]
    shape = (max(len(a), len(b)), max(a.shape[1], b.shape[1]))
    before, after = np.zeros(shape, bool), np.zeros(shape, bool)
    before[: len(a), : a.shape[1]], after[: len(b), : b.shape[1]] = a, b
    added, removed = after & ~before, before & ~after
    assert (told["added"], told["removed"], told["common"]) == (added.sum(), removed.sum(), (before & after).sum())
    assert told["same"] == (a.shape == b.shape and not (added | removed).any())
    for name, cells in (("first_added", added), ("first_removed", removed)):
        first = np.argwhere(cells)
        assert told[name] == (dict(zip("qk", first[0].tolist(), strict=True)) if len(first) else None)
    path = f"/api/diff/{told['left_hash']}/{told['right_hash']}/tiles/0/0/0"
    picture = tile(client, path)[: shape[0], : shape[1]]
    kinds = np.where(added, 1, np.where(removed, 2, 0))
    assert (picture // 64 == kinds).all()
    assert ((picture % 64 == 63) == (added | removed | (before & after))).all()


@law
@given(programs())
def test_the_python_module_and_the_json_hold_the_same_mask(client: TestClient, program: Program) -> None:
    cells_of(program)
    mask = compiled(client, program)
    text = client.post("/api/export/python", json=body_of(program))
    assert text.status_code == 200
    module: dict[str, Any] = {"__name__": "exported"}
    exec(compile(text.text, "exported", "exec"), module)
    assert module["mask"]().hash == mask["hash"]
    json_text = client.get(f"/api/masks/{mask['hash']}/descriptor").text
    assert MaskDescriptor.from_json(json_text).hash == mask["hash"]
