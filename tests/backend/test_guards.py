"""What keeps other sites' pages, rebinding names and strangers out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from compilemask_studio.main import create_app
from compilemask_studio.settings import Settings
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "BREW"]
TOKEN = "a-token-of-24-characters"


@pytest.fixture
def client(shared_client: TestClient) -> TestClient:
    return shared_client


def code(response) -> str:
    return response.json()["error"]["code"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", ["/", "/api/runs", "/api/events", "/api/launches", "/assets/app.js"])
def test_a_rebinding_host_is_refused_for_every_method_and_path(client: TestClient, method: str, path: str) -> None:
    headers = {"Host": "evil.example", "Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"}
    assert client.request(method, path, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "host",
    ["evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "", "[::1", "0.0.0.0", "127.0.0.2"],
)
def test_only_names_of_this_machine_are_answered(client: TestClient, host: str) -> None:
    response = client.get("/api/language", headers={"Host": host})
    assert response.status_code == 403 and code(response) == "host_refused"


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "LOCALHOST", "127.0.0.1:8000", "[::1]:8000"])
def test_the_port_in_the_host_does_not_matter(client: TestClient, host: str) -> None:
    assert client.get("/api/language", headers={"Host": host}).status_code == 200


def test_a_websocket_is_refused(client: TestClient) -> None:
    for host in ("127.0.0.1:8000", "evil.example"):
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/events", headers={"Host": host}):
            pass


@pytest.mark.parametrize("site", ["cross-site", "same-site", "something-new"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "BREW"])
def test_another_sites_page_cannot_change_anything(client: TestClient, method: str, site: str) -> None:
    for path in ("/api/launches", "/api/runs/1", "/api/launches/1/cancel", "/anything"):
        response = client.request(method, path, headers={"Sec-Fetch-Site": site})
        assert (response.status_code, code(response)) == (403, "origin_refused")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_cross_site_form_is_refused(client: TestClient, content_type: str | None) -> None:
    headers = {"Sec-Fetch-Site": "cross-site"} | ({"Content-Type": content_type} if content_type else {})
    assert client.post("/api/launches", content=b"a=1", headers=headers).status_code == 403
    assert client.get("/api/launches").json() == []


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://localhost:5173", "http://127.0.0.1:8001", "null", "file://", "garbage"]
)
def test_an_old_browser_is_known_by_its_origin(client: TestClient, origin: str) -> None:
    response = client.delete("/api/runs/1", headers={"Origin": origin})
    assert (response.status_code, code(response)) == (403, "origin_refused")


def test_our_own_page_and_programs_pass(client: TestClient) -> None:
    for headers in (
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:8000"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://127.0.0.1:8000"},
        {},
    ):
        assert client.delete("/api/runs/1", headers=headers).status_code == 404


@pytest.mark.parametrize("path", ["/api/events", "/api/runs", "/api/openapi.json"])
def test_another_sites_page_cannot_read_the_interface(client: TestClient, path: str) -> None:
    for site in ("cross-site", "same-site"):
        assert client.get(path, headers={"Sec-Fetch-Site": site}).status_code == 403


def test_a_link_from_elsewhere_may_open_the_page(client: TestClient) -> None:
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/api/language", "/api/nothing", "/api/runs/0"])
def test_every_answer_carries_the_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"].split("; ")
    assert {"default-src 'self'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy)
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_no_preflight_is_ever_granted(client: TestClient) -> None:
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST", "Sec-Fetch-Site": "cross-site"}
    response = client.options("/api/launches", headers=headers)
    assert response.status_code == 403 and "access-control-allow-origin" not in response.headers


def test_a_body_over_the_limit_is_refused_with_and_without_its_length(client: TestClient) -> None:
    big = b'{"source": "' + b"x" * 4_200_000 + b'"}'
    with_length = client.post("/api/compile", content=big, headers={"Content-Type": "application/json"})

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(big), 100_000):
            yield big[start : start + 100_000]

    without = client.post("/api/compile", content=chunks(), headers={"Content-Type": "application/json"})
    for response in (with_length, without):
        assert (response.status_code, code(response)) == (413, "too_large")
        assert response.json()["error"]["message"] == "the request body is larger than 4,194,304 bytes"


# ---------------------------------------------------------------- with a token


@pytest.fixture
def open_client(settings: Settings, worker_command: tuple[str, ...]) -> Iterator[TestClient]:
    """A studio that listens on all addresses, seen under a name of the local network."""
    settings = settings.model_copy(update={"host": "0.0.0.0", "token": TOKEN})
    with TestClient(
        create_app(settings, worker_command=worker_command), base_url="http://lab-machine:8000", follow_redirects=False
    ) as client:
        yield client


def test_listening_to_others_without_a_token_is_impossible() -> None:
    with pytest.raises(ValueError, match="a token is needed"):
        Settings(host="0.0.0.0")


@pytest.mark.parametrize("path", ["/", "/runs", "/api/runs", "/api/events", "/api/openapi.json", "/assets/app.js"])
def test_nothing_is_answered_without_the_token(open_client: TestClient, path: str) -> None:
    assert open_client.get(path).status_code == 401
    assert open_client.get(path, params={"token": "wrong"}).status_code == 401
    assert open_client.get(path, headers={"Cookie": "compilemask_token_8000=wrong"}).status_code == 401
    assert open_client.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_the_link_is_swapped_for_a_cookie_and_loses_its_token(open_client: TestClient) -> None:
    response = open_client.get("/runs?sort=name&token=" + TOKEN)
    assert response.status_code == 303 and response.headers["location"] == "/runs?sort=name"
    cookie = response.headers["set-cookie"]
    assert cookie.startswith(f"compilemask_token_8000={TOKEN};")
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie
    assert open_client.get("/api/runs").status_code == 200


def test_a_program_may_send_the_token_as_bearer(open_client: TestClient) -> None:
    assert open_client.get("/api/runs", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize("path", ["//evil.example", "///evil.example", "/\\evil.example"])
def test_the_redirect_stays_on_this_server(open_client: TestClient, path: str) -> None:
    location = open_client.get(f"http://lab-machine:8000{path}?token={TOKEN}").headers["location"]
    assert location.startswith("/") and not location.startswith(("//", "/\\"))


def test_the_cookie_does_not_make_a_cross_site_request_good(open_client: TestClient) -> None:
    open_client.get("/?token=" + TOKEN)
    assert open_client.post("/api/launches", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
