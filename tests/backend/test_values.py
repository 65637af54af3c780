"""Values of every type of the language go through the interface unchanged, and wrong ones get one message."""

from __future__ import annotations

from typing import Any

import pytest
from compilemask_studio.schemas import MAX_VALUE_ITEMS, Value
from fastapi.testclient import TestClient
from pydantic import TypeAdapter, ValidationError

from compilemask.compiler import compile
from compilemask.presets import preset_names, preset_source
from compilemask.semantics.program import ParameterType

TEXTS: dict[ParameterType, tuple[str, Any, Any]] = {
    ParameterType.INT: ("mask m(v: int)\ntokens { S: v }\nS sees S", 5, [5]),
    ParameterType.BOOL: ("mask m(v: bool)\ntokens { S: 4 }\nS sees S causal or v", True, 1),
    ParameterType.INT_LIST: ("mask m(v: int[])\ntokens { D[i]: v[i] }\nD[i] sees D[i]", [3, 1], True),
    ParameterType.BOOL_LIST: (
        "mask m(v: bool[])\ntokens { S: len(v) }\nS sees S v[k] or k == q",
        [True, False, True],
        [1, 0, 1],
    ),
    ParameterType.INT_TABLE: (
        "mask m(v: int[][])\ntokens { g[i < len(v)] { R[j]: v[i][j] } }\ng[i].R[j] sees g[i].R[j]",
        [[3, 4], [5]],
        [3, 4],
    ),
    ParameterType.BOOL_TABLE: (
        "mask m(v: bool[][])\ntokens { B[i < len(v)]: 2 }\nB[i] sees B[j] where v[i][j]",
        [[True, False], [True, True]],
        [[1, 0], [1, 1]],
    ),
}


@pytest.fixture
def client(shared_client: TestClient) -> TestClient:
    return shared_client


def post(client: TestClient, source: str, values: dict[str, Any]) -> dict[str, Any]:
    response = client.post("/api/compile", json={"source": source, "values": values})
    assert response.status_code == 200, response.text
    result: dict[str, Any] = response.json()
    return result


@pytest.mark.parametrize("kind", list(ParameterType))
def test_a_value_of_each_type_is_bound_shown_run_and_exported(client: TestClient, kind: ParameterType) -> None:
    text, value, _ = TEXTS[kind]
    result = post(client, text, {"v": value})
    assert result["values"] == {"v": value} and result["diagnostics"] == []
    (parameter,) = result["program"]["parameters"]
    assert parameter["type"] == kind.value
    assert result["mask"]["hash"] == compile(text).bind(v=value).hash
    assert client.post("/api/export/python", json={"source": text, "values": {"v": value}}).status_code == 200
    guessed = post(client, text, {})
    assert guessed["assumed"] == ["v"] and guessed["mask"] is not None
    again = post(client, text, guessed["values"])
    assert again["mask"]["hash"] == guessed["mask"]["hash"]


@pytest.mark.parametrize("kind", list(ParameterType))
def test_a_value_of_another_type_is_a_diagnostic(client: TestClient, kind: ParameterType) -> None:
    text, _, wrong = TEXTS[kind]
    result = post(client, text, {"v": wrong})
    assert result["mask"] is None
    assert [d["code"] for d in result["diagnostics"]] == ["CM403"]


@pytest.mark.parametrize(
    "value", [1.5, "4", None, {}, [1, True], [[1], 2], [[1], [True]], [[[1]]], [0.5], ["a"], [None], [[1], None]]
)
def test_what_no_parameter_takes_is_refused_in_one_sentence(client: TestClient, value: object) -> None:
    response = client.post("/api/compile", json={"source": "mask m(v: int)", "values": {"v": value}})
    assert response.status_code == 422
    assert response.json()["error"]["message"].count("must be a whole number, true or false, or a list") == 1


def test_the_length_of_values_is_bounded() -> None:
    half = MAX_VALUE_ITEMS // 2
    values = TypeAdapter(Value)
    for fits in ([0] * (MAX_VALUE_ITEMS - 1), [[]] * half, [[True] * (half - 1)] * 2):
        assert values.validate_python(fits) == fits
    for long in ([0] * MAX_VALUE_ITEMS, [[]] * (MAX_VALUE_ITEMS + 1), [[True] * half] * 2):
        with pytest.raises(ValidationError, match="at most 100,000 numbers and rows"):
            values.validate_python(long)


@pytest.mark.parametrize("word", ["item", "head"])
@pytest.mark.parametrize("kind", [kind for kind in ParameterType if kind.depth < 2])
def test_a_list_of_values_per_item_or_head_is_a_batch(client: TestClient, kind: ParameterType, word: str) -> None:
    text, value, _ = TEXTS[kind]
    text = text.replace(kind.value, f"{kind.value} per {word}", 1)
    result = post(client, text, {"v": [value, value]})
    assert result["values"] == {"v": [value, value]}
    assert [d["code"] for d in result["diagnostics"]] == ["CM540"]
    assert result["program"]["parameters"][0]["per"] == word
    assert result["mask"]["hash"] == post(client, text, {"v": value})["mask"]["hash"]


def test_ranges_are_told_and_what_is_outside_is_a_diagnostic(client: TestClient) -> None:
    text = "mask m(n: int in 1..4096, w: int in 2.., s: int in ..8 = 0)\ntokens { S: n }\nS sees S q - k < w + s"
    result = post(client, text, {"n": 4, "w": 2})
    limits = [(p["minimum"], p["maximum"]) for p in result["program"]["parameters"]]
    assert limits == [(1, 4096), (2, None), (None, 8)]
    outside = post(client, text, {"n": 4097, "w": 1})
    assert outside["mask"] is None
    assert [d["code"] for d in outside["diagnostics"]] == ["CM440", "CM440"]


@pytest.mark.parametrize("name", preset_names())
def test_every_example_of_every_preset_compiles_and_its_cells_are_explained(client: TestClient, name: str) -> None:
    source = preset_source(name)
    examples = post(client, source, {})["program"]["examples"]
    for example in examples[:2]:
        result = post(client, source, example["values"])
        assert result["mask"] is not None, [d["message"] for d in result["diagnostics"]]
        assert all(assertion["holds"] for assertion in result["assertions"])
        body = {"source": source, "values": result["values"], "q": 0, "k": 0}
        assert client.post("/api/explain", json=body).status_code == 200


def test_as_many_numbers_as_are_promised_fit_into_a_request(client: TestClient) -> None:
    source = "mask m(v: int[])\ntokens { S: 4 }\nS sees S causal or v[0] < 0\n"
    numbers = [2**31 - 1] * (MAX_VALUE_ITEMS - 1)
    assert post(client, source, {"v": numbers})["mask"] is not None
    refused = client.post("/api/compile", json={"source": source, "values": {"v": [*numbers, 1, 1]}})
    assert refused.status_code == 422 and "at most 100,000 numbers" in refused.json()["error"]["message"]
