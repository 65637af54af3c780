"""Guards in front of every handler. Pure ASGI, so that they also cover streams and unknown paths.

A local server is reachable by every web page that its user's browser shows. What keeps those out:
the Host must be ours (rebinding), a browser's request must come from our own pages (forgery), nothing may embed us, and
where other machines can reach us, a token is needed.
"""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from compilemask_studio.errors import error_response
from compilemask_studio.responses import SECURITY_HEADERS
from compilemask_studio.settings import Settings, is_loopback

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets, in lower case; "" when it is malformed."""
    try:
        return (urlsplit(f"//{host}").hostname or "") if host else ""
    except ValueError:
        return ""


def _origin_is_host(origin: str, host: str) -> bool:
    return urlsplit(origin).scheme in {"http", "https"} and origin.split("://", 1)[1].lower() == host.lower()


def refuse_origin(method: str, path: str, headers: Headers) -> str | None:
    """Why a request must not reach a handler, or None.

    Browsers say in Sec-Fetch-Site where a request comes from, older ones in Origin; other programs say neither and pass.
    Every method not known to be safe is guarded, and so is reading `/api`, which pages of other sites never need.
    """
    if method in SAFE_METHODS and not path.startswith("/api"):
        return None
    site = headers.get("sec-fetch-site")
    if site is not None:
        allowed = site in {"same-origin", "none"}
        return None if allowed else f"the request comes from another site's page (Sec-Fetch-Site: {site[:40]})"
    origin = headers.get("origin")
    if origin is not None and not _origin_is_host(origin, headers.get("host", "")):
        return f"the request comes from another site's page (Origin: {origin[:200]})"
    return None


def _has_foreign_body(headers: Headers) -> bool:
    """Whether there is a body that is not declared as JSON, the only kind that no HTML form can send."""
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return has_body and media_type != "application/json"


class SecurityHeaders:
    """Adds the headers that tell a browser what our pages may do."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers)


class RequestGuard:
    """Refuses foreign hosts, other sites' pages, websockets (there are none), and oversized bodies."""

    def __init__(self, app: ASGIApp, any_host: bool, max_body_bytes: int) -> None:
        self.app = app
        self.any_host = any_host
        self.max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self.app(scope, self._limited(receive), send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if not self.any_host and host_name(headers.get("host", "")) not in LOOPBACK_NAMES:
            return error_response(
                403, "host_refused", "this studio answers to localhost only", "open it as http://localhost:<port>"
            )
        reason = refuse_origin(scope["method"], scope["path"], headers)
        if reason is not None:
            return error_response(403, "origin_refused", reason, "use the studio's own page")
        if _has_foreign_body(headers):
            hint = "send Content-Type: application/json"
            return error_response(415, "unsupported_media_type", "the request body must be JSON", hint)
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            return error_response(400, "bad_request", "Content-Length must be a number")
        if int(length) > self.max_body_bytes:
            return error_response(413, "too_large", self._too_large())
        return None

    def _too_large(self) -> str:
        return f"the request body is larger than {self.max_body_bytes:,} bytes"

    def _limited(self, receive: Receive) -> Receive:
        total = 0

        async def receive_limited() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self.max_body_bytes:
                raise HTTPException(413, self._too_large())
            return message

        return receive_limited


class TokenGuard:
    """Lets in who knows the token: by the link once, then by a cookie, or by `Authorization: Bearer` for programs.

    The cookie's name holds the port, since browsers share cookies over all ports of a host.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app = app
        self.token = token
        self.cookie_name = f"compilemask_token_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        if given is not None and scope["method"] == "GET" and self._matches(given):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            await self._enter(scope, rest)(scope, receive, send)
        elif self._matches(self._cookie(headers)) or self._matches(_bearer(headers)):
            await self.app(scope, receive, send)
        elif scope["path"].startswith("/api"):
            message = "this studio needs its token"
            refusal = error_response(401, "token_needed", message, "open the link that the studio printed at start")
            await refusal(scope, receive, send)
        else:
            text = "This studio needs its token: open the link that it printed at start.\n"
            await PlainTextResponse(text, status_code=401)(scope, receive, send)

    def _matches(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _cookie(self, headers: Headers) -> str:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie_name)
        except CookieError:
            return ""
        return cookie.value if cookie is not None else ""

    def _enter(self, scope: Scope, query: str) -> Response:
        # A path that begins with // would be read as another host.
        path = "/" + scope["path"].lstrip("/\\")
        response = RedirectResponse(path + (f"?{query}" if query else ""), status_code=303)
        response.set_cookie(self.cookie_name, self.token, httponly=True, samesite="strict", path="/")
        response.headers["Cache-Control"] = "no-store"
        return response


def _bearer(headers: Headers) -> str:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""


def install_guards(app: FastAPI, settings: Settings) -> None:
    """Add the guards; the one added last sees a request first."""
    if settings.token is not None:
        app.add_middleware(TokenGuard, token=settings.token, port=settings.port)
    # With a token, a rebinding page has no cookie; without one, only loopback names are ours.
    app.add_middleware(RequestGuard, any_host=not is_loopback(settings.host), max_body_bytes=settings.max_body_bytes)
    app.add_middleware(SecurityHeaders)
