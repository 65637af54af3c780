"""What may be launched, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from compilemask_studio.main import create_app
from compilemask_studio.services.memory_preflight import available_bytes, needed_bytes
from fastapi.testclient import TestClient

CAUSAL = "mask causal(n: int)\ntokens { S: n }\nS sees S causal\n"
SHAPE = {"batch": 1, "num_q_heads": 4, "num_kv_heads": 2, "head_dim": 16}


@pytest.fixture
def launch(client: TestClient) -> Callable[..., Any]:
    def post(**changes: object):
        body = {"source": CAUSAL, "values": {"n": 8}, "providers": ["passes"], "shape": SHAPE}
        return client.post("/api/launches", json=body | changes)

    return post


def test_a_launch_becomes_one_run_a_provider_and_is_measured(client: TestClient, launch, wait_until) -> None:
    response = launch(providers=["passes", "wrong"], dtype="bfloat16", seed=5, name="first try")
    assert response.status_code == 201
    created = response.json()
    assert created["name"] == "first try" and created["position"] == 1
    assert [run["provider"] for run in created["runs"]] == ["passes", "wrong"]
    run = created["runs"][0]
    assert (run["state"], run["verdict"], run["name"], run["mask_name"]) == ("queued", "pending", "first try", "causal")
    assert (run["q_len"], run["visible_pairs"], run["density"]) == (8, 36, 36 / 64)
    assert (run["values"], run["source"], run["dtype"], run["seed"]) == ({"n": 8}, CAUSAL, "bfloat16", 5)
    assert {name: run[name] for name in SHAPE} == SHAPE
    wait_until(lambda: client.get(f"/api/launches/{created['id']}").json()["state"] == "done")
    done = client.get(f"/api/launches/{created['id']}").json()
    assert [run["verdict"] for run in done["runs"]] == ["passed", "failed"]
    assert client.get("/api/runs?verdict=passed").json()["items"][0]["median_ms"] == 1.5


@pytest.mark.parametrize(
    ("changes", "status", "code", "words"),
    [
        ({"providers": []}, 422, "invalid_request", "providers"),
        ({"providers": ["passes", "passes"]}, 422, "invalid_request", "each may be named once"),
        ({"providers": ["nobody"]}, 422, "provider_unknown", "'nobody'"),
        ({"providers": ["absent"]}, 409, "provider_unusable", "Absent cannot run here: no such device"),
        ({"shape": SHAPE | {"num_q_heads": 3}}, 422, "invalid_request", "num_q_heads (3) must be a multiple of"),
        ({"shape": SHAPE | {"num_kv_heads": 8}}, 422, "invalid_request", "num_kv_heads (8)"),
        ({"shape": SHAPE | {"num_kv_heads": 0}}, 422, "invalid_request", "shape.num_kv_heads"),
        ({"shape": SHAPE | {"head_dim": 257}}, 422, "invalid_request", "shape.head_dim"),
        ({"shape": SHAPE | {"command": "rm"}}, 422, "invalid_request", "shape.command"),
        ({"dtype": "int8"}, 422, "invalid_request", "dtype"),
        ({"seed": -1}, 422, "invalid_request", "seed"),
        ({"source": "mask m("}, 409, "mask_invalid", "CM"),
        ({"values": {"n": 10**9}, "shape": SHAPE | {"batch": 64}}, 409, "too_much_memory", "GB"),
    ],
)
def test_what_cannot_run_is_refused_with_the_reason(
    client: TestClient, launch, changes: dict, status: int, code: str, words: str
) -> None:
    response = launch(**changes)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, code)
    assert words in error["message"]
    assert client.get("/api/launches").json() == [] and client.get("/api/runs").json()["total"] == 0


def test_the_queue_has_a_limit(settings, worker_command) -> None:
    app = create_app(settings.model_copy(update={"max_queued_launches": 2}), worker_command=worker_command)
    body = {"source": CAUSAL, "values": {"n": 8}, "providers": ["hangs"], "shape": SHAPE}
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        answers = [client.post("/api/launches", json=body) for _ in range(5)]
        statuses = [answer.status_code for answer in answers]
        assert statuses[:2] == [201, 201] and statuses[-1] == 429
        assert answers[-1].json()["error"]["code"] == "queue_full"


def test_memory_is_counted_from_all_tensors(client: TestClient) -> None:
    from compilemask_studio.schemas import Environment, LaunchCreate, Shape

    body = LaunchCreate(source="", providers=["torch"], dtype="bfloat16", shape=Shape(num_q_heads=4, num_kv_heads=2))
    mask = client.app.state.studio.compiler.bind(CAUSAL, {"n": 100}).descriptor
    q_and_o, k_and_v = 2 * 4 * 100 * 64, 2 * 2 * 100 * 64
    nothing = Environment(state="ready", reason=None, providers=[], devices=[], versions={})
    assert needed_bytes(body, mask, nothing) > (q_and_o + k_and_v) * (2 + 8)
    dense = body.model_copy(update={"providers": ["torch", "sdpa_math"]})
    assert needed_bytes(dense, mask, nothing) >= needed_bytes(body, mask, nothing)
    trained = body.model_copy(update={"direction": "backward"})
    assert needed_bytes(trained, mask, nothing) > needed_bytes(body, mask, nothing)
    assert available_bytes(nothing, 123) == (123, "the limit that is set")
    here = available_bytes(nothing, None)
    assert here is None or here[0] > 0


def test_the_environment_is_probed_in_a_child_and_can_be_asked_again(client: TestClient, wait_until) -> None:
    wait_until(lambda: client.get("/api/environment").json()["state"] == "ready")
    environment = client.get("/api/environment").json()
    assert environment["versions"] == {"fake": "1"} and environment["devices"][0]["kind"] == "cpu"
    assert {"name": "absent", "title": "Absent", "kind": "peer", "usable": False, "reason": "no such device"} in (
        environment["providers"]
    )
    assert client.post("/api/environment/refresh").json()["state"] == "probing"
    wait_until(lambda: client.get("/api/environment").json()["state"] == "ready")


def test_a_probe_that_fails_is_said_and_nothing_is_launched(settings) -> None:
    app = create_app(settings, worker_command=("/bin/sh", "-c", "echo no torch here >&2; exit 3"))
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        body = {"source": CAUSAL, "values": {"n": 8}, "providers": ["passes"], "shape": SHAPE}
        response = client.post("/api/launches", json=body)
        assert response.status_code == 409 and "no torch here" in response.json()["error"]["message"]
        environment = client.get("/api/environment").json()
        assert environment["state"] == "failed" and "exit code 3" in environment["reason"]
