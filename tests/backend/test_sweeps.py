"""Sweeps: which cases they have, what is said of them before they start, and that each becomes runs of its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from compilemask_studio.errors import StudioError
from compilemask_studio.schemas import LaunchCreate
from compilemask_studio.services.sweep import MAX_CASES, case_text, cases_of
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

CAUSAL = "mask causal(n: int, window: int = 4)\ntokens { S: n }\nS sees S causal where q - k < window\n"
BODY = {"source": CAUSAL, "values": {"n": 8}, "providers": ["passes"]}

numbers = st.lists(st.integers(1, 50), min_size=1, max_size=3, unique=True)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    n=numbers,
    window=numbers,
    head_dims=st.lists(st.sampled_from([16, 32, 64]), unique=True),
    dtypes=st.lists(st.sampled_from(["float32", "bfloat16"]), unique=True),
    directions=st.lists(st.sampled_from(["forward", "backward"]), unique=True),
    batches=st.lists(st.integers(1, 3), max_size=2, unique=True),
)
def test_the_cases_are_all_combinations_each_once(n, window, head_dims, dtypes, directions, batches) -> None:
    sweep = {
        "values": {"n": n, "window": window}, "head_dims": head_dims, "dtypes": dtypes, "directions": directions,
        "batches": batches,
    }  # fmt: skip
    expected = set(
        product(n, window, head_dims or [64], dtypes or ["float32"], directions or ["forward"], batches or [1])
    )
    body = LaunchCreate.model_validate(BODY | {"sweep": sweep})
    if len(expected) > MAX_CASES:
        with pytest.raises(StudioError, match=f"this sweep has {len(expected)} cases"):
            cases_of(body)
        return
    cases = cases_of(body)
    assert len(cases) == len(expected)
    assert expected == {
        (*case.values.values(), case.shape.head_dim, case.dtype, case.direction, case.shape.batch) for case in cases
    }
    assert len({case_text(case, body) for case in cases}) == len(cases), "their names tell them apart"


def test_a_sweep_of_more_cases_than_memory_holds_is_refused_at_once() -> None:
    sweep = {"values": {name: list(range(64)) for name in "abcdefgh"}}
    with pytest.raises(StudioError, match=f"this sweep has {64**8:,} cases"):
        cases_of(LaunchCreate.model_validate(BODY | {"sweep": sweep}))


def test_lists_that_go_together_are_taken_side_by_side() -> None:
    sweep = {"values": {"n": [8, 16, 32], "window": [1, 2, 3]}, "together": True}
    cases = cases_of(LaunchCreate.model_validate(BODY | {"sweep": sweep}))
    assert [case.values for case in cases] == [{"n": n, "window": w} for n, w in ((8, 1), (16, 2), (32, 3))]
    uneven = LaunchCreate.model_validate(BODY | {"sweep": {"values": {"n": [8], "window": [1, 2]}, "together": True}})
    with pytest.raises(StudioError, match="must be of one length; n has 1, window has 2"):
        cases_of(uneven)


def test_without_a_sweep_there_is_one_case_and_it_has_no_name() -> None:
    body = LaunchCreate.model_validate(BODY)
    assert cases_of(body) == [body] and case_text(body, body) == ""


@pytest.fixture
def post(client: TestClient) -> Callable[..., Any]:
    def call(path: str = "/api/launches", **changes: object):
        shape = {"batch": 1, "num_q_heads": 4, "num_kv_heads": 2, "head_dim": 16}
        return client.post(path, json=BODY | {"shape": shape} | changes)

    return call


def test_each_case_becomes_a_run_for_each_provider(client: TestClient, post, wait_until) -> None:
    sweep = {"values": {"n": [8, 16]}, "directions": ["forward", "backward"]}
    created = post(providers=["passes", "raises"], sweep=sweep, tags=["night", "night"]).json()
    told = [(run["q_len"], run["direction"], run["provider"], run["tags"]) for run in created["runs"]]
    assert told == [
        (n, direction, provider, ["night"])
        for direction in ("forward", "backward")
        for n in (8, 16)
        for provider in ("passes", "raises")
    ]
    assert created["request"]["sweep"]["values"] == {"n": [8, 16]}
    assert [run["command"].endswith("--direction backward") for run in created["runs"]] == [False] * 4 + [True] * 4
    wait_until(lambda: client.get(f"/api/launches/{created['id']}").json()["state"] == "done")
    done = client.get(f"/api/launches/{created['id']}").json()
    assert [run["verdict"] for run in done["runs"]] == ["passed", "error"] * 4, "one case that fails loses no other"
    log = client.get(f"/api/launches/{created['id']}/log").json()
    assert log["text"].count("Traceback ...") == 4 and not log["cut"]
    assert (done["counts"], done["progress"]) == ({"total": 8, "finished": 8, "passed": 4, "failed": 4}, 1)
    page = client.get(f"/api/launches/{created['id']}?offset=6&limit=5").json()
    assert (page["offset"], page["runs"], page["counts"]) == (6, done["runs"][6:], done["counts"])
    (summary,) = client.get("/api/launches").json()
    assert summary == {name: done[name] for name in done if name not in ("request", "offset", "runs")}


def test_what_stands_against_a_case_names_the_case(post) -> None:
    error = post(sweep={"values": {"n": [8, -1]}}).json()["error"]
    assert (error["code"], error["message"].split(":")[0]) == ("mask_invalid", "case n=-1")
    assert post(sweep={"values": {"m": [8]}}).status_code == 409
    assert post(sweep={"values": {"n": []}}).status_code == 422
    assert post(sweep={"lengths": [8]}).status_code == 422


def test_an_estimate_counts_and_starts_nothing(client: TestClient, post, wait_until) -> None:
    wait_until(lambda: client.get("/api/environment").json()["state"] == "ready")
    sweep = {"values": {"n": [8, 16, -1]}}
    answer = post("/api/launches/estimate", providers=["passes", "wrong"], sweep=sweep).json()
    assert (answer["case_count"], answer["run_count"]) == (3, 6)
    assert [case["problem"] is None for case in answer["cases"]] == [True, True, False]
    pairs = [case["visible_pairs"] for case in answer["cases"]]
    assert pairs == [8 * 4 - 6, 16 * 4 - 6, None]
    # 4 * head_dim FLOPs for each visible pair and head, four heads, two providers.
    assert answer["flops"] == 4 * 16 * 4 * (pairs[0] + pairs[1]) * 2
    assert answer["seconds"] is None and "passes, wrong" in answer["basis"]
    assert client.get("/api/launches").json() == []


def test_an_estimate_tells_time_by_earlier_runs(client: TestClient, post, wait_until) -> None:
    first = post().json()
    wait_until(lambda: client.get(f"/api/launches/{first['id']}").json()["state"] == "done")
    answer = post("/api/launches/estimate", sweep={"values": {"n": [8, 16]}}).json()
    assert answer["seconds"] > 0 and "1 earlier runs" in answer["basis"]


def test_a_request_can_be_sent_again(client: TestClient, post) -> None:
    first = post(sweep={"head_dims": [16, 32]}, name="twice", tags=["a"]).json()
    again = client.post("/api/launches", json=first["request"])
    assert again.status_code == 201
    assert again.json()["request"] == first["request"]


def test_the_log_of_a_launch_that_is_not_there_is_not_found(client: TestClient) -> None:
    response = client.get("/api/launches/7/log")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "launch_unknown")


def test_the_log_keeps_what_a_worker_printed_before_it_died(client: TestClient, post, wait_until) -> None:
    created = post(providers=["segfault", "exits", "passes"]).json()
    wait_until(lambda: client.get(f"/api/launches/{created['id']}").json()["state"] == "done")
    text = client.get(f"/api/launches/{created['id']}/log").json()["text"]
    assert text.index("about to crash") < text.index("CUDA error: out of memory")
