"""Texts whose parameters differ per item and head: the first mask is shown, and the export has all of them."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
from fastapi.testclient import TestClient

from compilemask import MaskBatch
from compilemask.compiler import compile

TEXT = """mask m(n: int, prefix: int per item in 0.., window: int per head = 3, lengths: int[] per item = [1])
tokens { S: n; D[i]: lengths[i] }
S sees S k < prefix or (causal and q - k < window)
D[i] sees D[i]
example served(n = 6, prefix = [2, 4, 0], window = [1, 3], lengths = [[1, 2], [2], [3]])
"""


@pytest.fixture
def client(shared_client: TestClient) -> TestClient:
    return shared_client


def compiled(client: TestClient, values: dict[str, Any]) -> dict[str, Any]:
    response = client.post("/api/compile", json={"source": TEXT, "values": values})
    assert response.status_code == 200, response.text
    result: dict[str, Any] = response.json()
    return result


SERVED: dict[str, Any] = {"n": 6, "prefix": [2, 4, 0], "window": [1, 3], "lengths": [[1, 2], [2], [3]]}


@pytest.mark.parametrize(
    ("values", "bound", "first"),
    [
        ({}, SERVED, {"n": 6, "prefix": 2, "window": 1, "lengths": [1, 2]}),
        (
            {"n": 5, "prefix": [3, 1]},
            {"n": 5, "prefix": [3, 1], "window": 3, "lengths": [1]},
            {"n": 5, "prefix": 3, "window": 3, "lengths": [1]},
        ),
        (
            {"n": 5, "prefix": 3, "window": [2, 4], "lengths": [4]},
            {"n": 5, "prefix": 3, "window": [2, 4], "lengths": [4]},
            {"n": 5, "prefix": 3, "window": 2, "lengths": [4]},
        ),
    ],
)
def test_the_first_mask_is_shown_and_a_warning_says_so(
    client: TestClient, values: dict[str, Any], bound: dict[str, Any], first: dict[str, Any]
) -> None:
    result = compiled(client, values)
    assert result["values"] == bound
    (warning,) = [d for d in result["diagnostics"] if d["code"] == "CM540"]
    assert warning["severity"] == "warning" and "this is the mask of" in warning["message"]
    alone = compile(TEXT).bind(**first)
    assert isinstance(alone, MaskBatch)
    assert result["mask"]["hash"] == alone.mask(0, 0).hash
    again = compiled(client, first)
    assert again["mask"]["hash"] == result["mask"]["hash"]
    assert "CM540" not in [d["code"] for d in again["diagnostics"]]


def test_parameters_say_what_they_differ_by_and_examples_are_whole(client: TestClient) -> None:
    program = compiled(client, {})["program"]
    assert [(p["name"], p["type"], p["default"], p["per"], p["minimum"]) for p in program["parameters"]] == [
        ("n", "int", None, None, None), ("prefix", "int", None, "item", 0), ("window", "int", 3, "head", None),
        ("lengths", "int[]", [1], "item", None),
    ]  # fmt: skip
    assert program["examples"][0]["values"] == SERVED


@pytest.mark.parametrize("values", [{}, {"n": 5, "prefix": [3, 1], "window": [1, 2]}, {"n": 5, "prefix": 3}])
def test_the_export_rebuilds_every_mask(client: TestClient, values: dict[str, Any]) -> None:
    response = client.post("/api/export/python", json={"source": TEXT, "values": values})
    assert response.status_code == 200, response.text
    namespace: dict[str, Any] = {"__name__": "exported"}
    exec(builtins.compile(response.text, "exported.py", "exec"), namespace)
    program = compile(TEXT)
    assert namespace["mask"]() == program.bind(**(values or program.example()))


def test_lists_that_do_not_fit_are_diagnostics(client: TestClient) -> None:
    result = compiled(client, {"n": 5, "prefix": [3, -1]})
    assert result["mask"] is None
    assert [d["code"] for d in result["diagnostics"]] == ["CM440"]
    response = client.post("/api/export/python", json={"source": TEXT, "values": {"n": 5, "prefix": [3, -1]}})
    assert response.status_code == 409 and response.json()["error"]["code"] == "mask_invalid"


def test_an_item_that_is_not_shown_is_checked_before_it_is_exported(client: TestClient) -> None:
    text = TEXT.replace("example", "assert visible < 20\nexample")
    values = {"n": 6, "prefix": [0, 6], "window": 1}
    response = client.post("/api/export/python", json={"source": text, "values": values})
    assert response.status_code == 409
    assert "(item 1" in response.json()["error"]["message"]


def test_a_run_measures_one_mask(client: TestClient) -> None:
    providers = client.get("/api/environment").json()["providers"]
    usable = next(p["name"] for p in providers if p["usable"])
    shape = {"batch": 1, "num_q_heads": 2, "num_kv_heads": 1, "head_dim": 16}
    body = {
        "source": TEXT,
        "values": {"n": 5, "prefix": [3, 1]},
        "providers": [usable],
        "shape": shape,
        "dtype": "float32",
        "seed": 0,
    }
    response = client.post("/api/launches", json=body)
    assert response.status_code == 409, response.text
    assert response.json()["error"]["code"] == "mask_is_batch"
