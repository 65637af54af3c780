"""Layout, completion and hover of a text over HTTP; offsets are UTF-16 code units."""

from __future__ import annotations

from typing import Any

import pytest
from compilemask_studio.services.utf16 import Utf16Offsets, code_points
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.presets import preset_names, preset_source

TEXT = "# 😀\nmask m(cat: int,  ## how many\n h: int)\ntokens { C: cat; H: h }\nC sees C\nH se"


@pytest.fixture
def client(shared_client: TestClient) -> TestClient:
    return shared_client


def ask(client: TestClient, what: str, **body: object) -> dict[str, Any]:
    response = client.post(f"/api/text/{what}", json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def test_a_text_is_laid_out_and_a_laid_out_text_stays(client: TestClient) -> None:
    answer = ask(client, "format", source="mask  a( n:int )\ntokens{S:n}\nS   sees S   causal")
    assert answer["changed"] is True
    again = ask(client, "format", source=answer["source"])
    assert again == {"source": answer["source"], "changed": False}
    assert "S sees S causal" in answer["source"]


def test_a_text_with_broken_syntax_has_no_layout(client: TestClient) -> None:
    response = client.post("/api/text/format", json={"source": "mask a(n: int"})
    assert (response.status_code, response.json()["error"]["code"]) == (409, "text_broken")


def test_completion_knows_the_words_and_the_names_of_the_text(client: TestClient) -> None:
    labels = [item["label"] for item in ask(client, "complete", source=TEXT, offset=utf16(TEXT))["items"]]
    assert labels == ["sees"]
    place = TEXT.index("cat; H") + 2
    items = ask(client, "complete", source=TEXT, offset=utf16(TEXT[:place]))["items"]
    assert ("cat", "parameter") in [(item["label"], item["kind"]) for item in items]


def test_hover_tells_a_parameters_documentation_at_its_place(client: TestClient) -> None:
    place = TEXT.index("cat; H")
    hover = ask(client, "hover", source=TEXT, offset=utf16(TEXT[:place]) + 1)["hover"]
    assert "how many" in hover["markdown"]
    assert hover["span"] == {"start": utf16(TEXT[:place]), "stop": utf16(TEXT[:place]) + 3}
    assert ask(client, "hover", source=TEXT, offset=0)["hover"] is None
    assert ask(client, "hover", source=TEXT, offset=10**9)["hover"] is None


def test_every_place_of_a_preset_is_answered(client: TestClient) -> None:
    source = preset_source(preset_names()[0])
    for offset in range(0, len(source), 17):
        ask(client, "complete", source=source, offset=offset)
        ask(client, "hover", source=source, offset=offset)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.text(alphabet="a😀é\n", max_size=20), st.integers(0, 20))
def test_offsets_come_back(text: str, place: int) -> None:
    place = min(place, len(text))
    assert code_points(text, Utf16Offsets(text).offset(place)) == place


def test_a_number_that_is_wrong_is_told_with_its_parameter(client: TestClient) -> None:
    source = preset_source("hstu")
    wrong = {"targets": -5}, {"history": [1]}, {"context": 2**61}, {"foo": 1}
    told = []
    for values in wrong:
        answer = client.post("/api/compile", json={"source": source, "values": values}).json()
        errors = [message for message in answer["diagnostics"] if message["severity"] == "error"]
        told.append([message["parameters"] for message in errors])
    assert told == [[["targets"]], [["history"]], [["context"]], [[]]]
    broken = client.post("/api/compile", json={"source": source.replace("causal", "causul")}).json()
    assert all(message["parameters"] == [] for message in broken["diagnostics"])
