"""Which rule shows a cell, why a cell is hidden, and which assertions hold."""

from __future__ import annotations

import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from compilemask.presets import preset_source

TEXT = """# 😀
mask m(c: int, h: int)
tokens { C: c; H: h }
C sees C
H sees C
H sees H causal
assert H never sees C
assert every query sees a key
assert density < 0.5
assert every key is seen
example small(c = 2, h = 3)
"""


@pytest.fixture
def client(shared_client: TestClient) -> TestClient:
    return shared_client


def explained(client: TestClient, source: str, q: int, k: int, **values: object) -> dict[str, Any]:
    response = client.post("/api/explain", json={"source": source, "values": values, "q": q, "k": k})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def text_at(source: str, span: dict[str, int]) -> str:
    return source.encode("utf-16-le")[2 * span["start"] : 2 * span["stop"]].decode("utf-16-le")


def test_a_visible_cell_names_its_rules_where_the_editor_finds_them(client: TestClient) -> None:
    answer = explained(client, TEXT, 4, 3, c=2, h=3)
    assert (answer["visible"], answer["reason"], answer["q_region"], answer["k_region"]) == (True, None, "H", "H")
    (rule,) = answer["rules"]
    assert (rule["line"], rule["text"], rule["reason"]) == (6, "H sees H causal", None)
    assert text_at(TEXT, rule["span"]) == "H sees H causal"


def test_a_hidden_cell_says_why_the_nearest_rule_does_not_show_it(client: TestClient) -> None:
    answer = explained(client, TEXT, 2, 4, c=2, h=3)
    assert answer["visible"] is False
    assert answer["reason"].startswith("nearest rule, line 6, `H sees H causal`: ")
    assert answer["rules"][0]["line"] == 6
    assert all(rule["reason"] for rule in answer["rules"])


def test_a_cell_names_the_tokens_that_are_stored_there(client: TestClient) -> None:
    text = "mask ring(n: int)\ntokens { S: n stored zigzag(2) }\nS sees S causal\n"
    # Of four chunks the first rank holds the first and the last, so that position 5 is token 13.
    answer = explained(client, text, 5, 1, n=16)
    assert (answer["visible"], answer["q_token"], answer["k_token"]) == (True, 13, None)
    answer = explained(client, text, 9, 5, n=16)
    assert (answer["visible"], answer["q_token"], answer["k_token"]) == (False, 5, 13)
    answer = explained(client, TEXT, 4, 3, c=2, h=3)
    assert (answer["q_token"], answer["k_token"]) == (None, None)


def test_every_cell_is_explained_as_the_rows_show_it(client: TestClient) -> None:
    mask = client.post("/api/compile", json={"source": TEXT}).json()["mask"]
    for q in range(5):
        row = client.get(f"/api/masks/{mask['hash']}/rows/{q}").json()["intervals"]
        seen = {k for start, stop in row for k in range(start, stop)}
        for k in range(5):
            answer = explained(client, TEXT, q, k)
            assert answer["visible"] == (k in seen) == (answer["reason"] is None)
            assert bool(answer["rules"]) or not answer["visible"]


def test_masks_made_of_masks_are_explained_by_their_calls(client: TestClient) -> None:
    text = "mask both(lengths: int[], w: int)\n    = documents(lengths) and sliding_window(sum(lengths), w)\n"
    shown = explained(client, text, 1, 1, lengths=[4, 3], w=2)
    assert [rule["line"] for rule in shown["rules"]] == [2, 2]
    hidden = explained(client, text, 3, 0, lengths=[4, 3], w=2)
    assert hidden["reason"].startswith("line 2, `sliding_window(sum(lengths), w)`: hidden in it")


def test_a_cell_outside_and_a_text_with_errors_are_refused(client: TestClient) -> None:
    for body, status, code in (
        ({"source": TEXT, "q": 5, "k": 0}, 404, "cell_unknown"),
        ({"source": TEXT, "q": 0, "k": 10**30}, 404, "cell_unknown"),
        ({"source": TEXT, "q": -1, "k": 0}, 422, "invalid_request"),
        ({"source": TEXT, "q": True, "k": 0}, 422, "invalid_request"),
        ({"source": "mask m(", "q": 0, "k": 0}, 409, "mask_invalid"),
        ({"source": TEXT, "values": {"c": -1, "h": 2}, "q": 0, "k": 0}, 409, "mask_invalid"),
    ):
        response = client.post("/api/explain", json=body)
        assert (response.status_code, response.json()["error"]["code"]) == (status, code)


def test_a_cell_of_a_large_mask_is_explained_at_once(client: TestClient) -> None:
    source, values = preset_source("hstu"), {"context": 64, "history": 30_720, "targets": 1984}
    client.post("/api/compile", json={"source": source, "values": values})
    times = []
    for q in range(9):
        start = time.perf_counter()
        explained(client, source, 31_000 + q, 30_999, **values)
        times.append(time.perf_counter() - start)
    assert sorted(times)[4] < 0.1, times


def test_assertions_that_do_not_hold_are_problems_of_a_mask_that_is_drawn(client: TestClient) -> None:
    result = client.post("/api/compile", json={"source": TEXT}).json()
    assert result["mask"] is not None
    shown = [(a["text"], a["line"], a["holds"], a["counter_example"], a["failing_cells"]) for a in result["assertions"]]
    assert shown == [
        ("H never sees C", 7, False, {"q": 2, "k": 0}, 6),
        ("every query sees a key", 8, True, None, 0),
        ("density < 0.5", 9, False, None, 0),
        ("every key is seen", 10, True, None, 0),
    ]
    errors = [d["message"] for d in result["diagnostics"] if d["severity"] == "error"]
    assert errors == [a["message"] for a in result["assertions"] if not a["holds"]]
    assert "H never sees C" in text_at(TEXT, result["assertions"][0]["span"])
    refused = client.post("/api/export/python", json={"source": TEXT})
    assert refused.status_code == 409 and "CM604" in refused.json()["error"]["message"]


def test_a_row_or_a_column_can_be_the_counter_example(client: TestClient) -> None:
    text = "mask m(n: int)\ntokens { S: n }\nS sees S k < q\nassert every query sees a key\nassert every key is seen\n"
    result = client.post("/api/compile", json={"source": text, "values": {"n": 4}}).json()
    assert [a["counter_example"] for a in result["assertions"]] == [{"q": 0, "k": None}, {"q": None, "k": 3}]
