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
        (b'{"source": 3}', "source: Input should be a valid string"),
        (b'{"source": "", "block_m": 48}', "block_m: Input should be 16, 32, 64, 128 or 256"),
        (b'{"source": "", "values": {"n": "1"}}', "values.n: must be a whole number, true or false, or a list"),
        (b'{"source": "", "values": {"n": 1.5}}', "values.n: must be a whole number, true or false, or a list"),
        (b'{"source": "", "values": {"n": NaN}}', "values.n: must be a whole number, true or false, or a list"),
        (b'{"source": "", "values": {"n": [1, true]}}', "values.n: must be a whole number"),
        (b'{"source": "\\ud800"}', "source: Input should be a valid string"),
        (b'{"source": "", "values": {"\\ud800": 1}}', "values"),
        (b'{"source": "", "values": {"n": ' + b"9" * 5000 + b"}}", ""),
        (b'{"source": "", "colour": 1}', "colour: Extra inputs are not permitted"),
        (b'{"source": "\xff"}', ""),
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


def test_a_database_that_does_not_answer_is_said_so(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("database is locked"))

    monkeypatch.setattr(run_service, "read_run", locked)
    response = client.get("/api/runs/1")
    assert (response.status_code, error_of(response).code) == (503, "database_unavailable")
    assert "SELECT" not in response.text
