"""Every error has the same shape, names what was wrong, and gives nothing of the server away."""

from __future__ import annotations

import logging

import pytest
from compilemask_studio.schemas import ErrorResponse
from compilemask_studio.services import run_service
from fastapi.testclient import TestClient
from sqlalchemy.exc import OperationalError


@pytest.fixture
def client(shared_client: TestClient) -> TestClient:
    return shared_client


def error_of(response):
    return ErrorResponse.model_validate(response.json()).error


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api", 404, "not_found"),
        ("GET", "/api/", 404, "not_found"),
        ("GET", "/api/nothing", 404, "not_found"),
        ("GET", "/api/runs/", 404, "not_found"),
        ("GET", "/assets/missing.js", 404, "not_found"),
        ("POST", "/anything", 405, "method_not_allowed"),
        ("PUT", "/api/compile", 405, "method_not_allowed"),
        ("GET", "/api/compile", 405, "method_not_allowed"),
        ("DELETE", "/api/presets", 405, "method_not_allowed"),
        ("GET", "/api/runs/77", 404, "run_unknown"),
        ("GET", "/api/launches/77", 404, "launch_unknown"),
        ("POST", "/api/launches/77/cancel", 404, "launch_unknown"),
        ("GET", "/api/masks/abc/tiles/0/0/0", 404, "mask_unknown"),
        ("GET", "/api/masks/abc/rows/0", 404, "mask_unknown"),
        ("GET", "/api/runs/0", 422, "invalid_request"),
        ("GET", f"/api/runs/{2**63}", 422, "invalid_request"),
        ("GET", "/api/runs/one", 422, "invalid_request"),
        ("GET", "/api/runs?limit=0", 422, "invalid_request"),
        ("GET", f"/api/runs?offset={2**63}", 422, "invalid_request"),
        ("GET", f"/api/runs?head_dim={2**63}", 422, "invalid_request"),
        ("GET", f"/api/masks/abc/runs?offset={2**63}", 422, "invalid_request"),
        ("GET", f"/api/masks/abc/families?offset={10**30}", 422, "invalid_request"),
        ("GET", f"/api/masks/abc/q-tiles?block_m=64&block_n=64&offset={2**63}", 422, "invalid_request"),
        ("GET", "/api/runs?sort=source", 422, "invalid_request"),
        ("GET", "/api/runs?colour=red", 422, "invalid_request"),
        ("GET", "/api/masks/abc/tiles/-1/0/0", 422, "invalid_request"),
        ("GET", "/api/compare?ids=1,x", 422, "invalid_request"),
        ("GET", "/api/compare?ids=", 422, "invalid_request"),
        ("GET", "/api/compare?ids=1&baseline=2", 422, "invalid_request"),
        ("GET", "/api/compare?ids=77", 404, "run_unknown"),
    ],
)
def test_paths_and_parameters(client: TestClient, method: str, path: str, status: int, code: str) -> None:
    for accept in ("application/json", "text/html"):
        response = client.request(method, path, headers={"Accept": accept})
        assert (response.status_code, error_of(response).code) == (status, code)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "the body is not valid JSON"),
        (b"", "body: Field required"),
        (b"[]", "body: Input should be"),
        (b"{}", "source: Field required"),
        (b'{"source": "' + b"x" * 64_001 + b'"}', "source: 64,001 characters are too many, 64,000 is the most"),
        (b'{"source": 3}', "source: Input should be a valid string"),
        (b'{"source": "", "block_m": 48}', "block_m: Input should be 16, 32, 64, 128 or 256"),
        (b'{"source": "", "values": {"n": "1"}}', "values.n: must be a whole number, true or false, or a list"),
        (b'{"source": "", "values": {"n": 1.5}}', "values.n: must be a whole number, true or false, or a list"),
        (b'{"source": "", "values": {"n": NaN}}', "values.n: must be a whole number, true or false, or a list"),
        (b'{"source": "", "values": {"n": [1, true]}}', "values.n: must be a whole number"),
        (b'{"source": "\\ud800"}', "source: Input should be a valid string"),
        (b'{"source": "", "values": {"\\ud800": 1}}', "values"),
        (b'{"source": "", "values": {"n": ' + b"9" * 5000 + b"}}", "a number in it has too many digits"),
        (b'{"source": "", "values": {"n": ' + b"[" * 90_000 + b"]" * 90_000 + b"}}", "nested too deep"),
        (b'{"source": "", "colour": 1}', "colour: Extra inputs are not permitted"),
        (b'{"source": "\xff"}', "it is not UTF-8 text"),
    ],
)
def test_a_bad_body_is_one_message_that_names_the_field(client: TestClient, body: bytes, words: str) -> None:
    response = client.post("/api/compile", content=body, headers={"Content-Type": "application/json"})
    error = error_of(response)
    assert response.status_code in (400, 422) and words in error.message
    assert "Traceback" not in error.message and "\n" not in error.message


def test_a_body_that_is_not_declared_as_json_is_refused(client: TestClient) -> None:
    for headers in ({"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}, {}):
        response = client.post("/api/compile", content=b'{"source": ""}', headers=headers)
        assert (response.status_code, error_of(response).code) == (415, "unsupported_media_type")
    response = client.post(
        "/api/compile", content=b'{"source": ""}', headers={"Content-Type": "Application/JSON; charset=utf-8"}
    )
    assert response.status_code == 200


def test_an_unexpected_error_is_logged_and_not_shown(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def explode(*_: object) -> None:
        raise RuntimeError(f"secret of {__file__}")

    monkeypatch.setattr(run_service, "read_run", explode)
    with caplog.at_level(logging.ERROR, "compilemask_studio"):
        response = client.get("/api/runs/1")
    assert (response.status_code, error_of(response).code) == (500, "internal")
    assert "secret" not in response.text and "Traceback" not in response.text
    assert "secret" in caplog.text
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("database is locked", "did not answer in time"),
        ("database or disk is full", "the disk with the studio's database is full"),
        ("attempt to write a readonly database", "cannot write to its database"),
    ],
)
def test_a_database_that_fails_says_why(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, reason: str, words: str
) -> None:
    def fails(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception(reason))

    monkeypatch.setattr(run_service, "read_run", fails)
    response = client.get("/api/runs/1")
    error = error_of(response)
    assert (response.status_code, error.code) == (503, "database_unavailable")
    assert words in error.message and error.hint
    assert "SELECT" not in response.text


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/api/runs/one", None, "run_id: must be a whole number"),
        (
            "/api/launches/estimate",
            {"source": "", "providers": ["torch"], "sweep": {"values": {"n": list(range(200))}}},
            "sweep.values.n: 200 entries are too many, 64 is the most",
        ),
    ],
)
def test_limits_are_told_in_plain_words(client: TestClient, path: str, body: object, words: str) -> None:
    response = client.get(path) if body is None else client.post(path, json=body)
    assert (response.status_code, error_of(response).message) == (422, words)
