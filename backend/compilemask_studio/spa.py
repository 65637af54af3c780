"""The built user interface: files as they are, the page itself for every address that a person navigates to."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>CompileMask Studio</title>
<h1>The user interface is not built</h1>
<p>The server runs, but its pages are missing. In the project's folder, run <code>make studio</code>, or
<code>npm ci &amp;&amp; npm run build</code> in <code>frontend/</code>, and reload this page.</p>
<p>The interface for programs is at <a href="/api/openapi.json">/api/openapi.json</a>.</p>
</html>
"""


class SpaFiles(StaticFiles):
    """Static files with a fallback to index.html for navigation only: a missing script stays a 404."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory=directory, check_dir=False, follow_symlink=False)
        # A folder that is not there yet is answered, not a fault: the interface may be built while the server runs.
        self.config_checked = True
        self.index = directory / "index.html"

    async def get_response(self, path: str, scope: Scope) -> Response:
        request_path = scope["path"]
        if request_path == "/api" or request_path.startswith("/api/"):
            raise HTTPException(404)
        if request_path == "/":
            return await self._page(scope)
        try:
            packed = request_path.startswith("/assets/") and await self._packed(path, scope)
            response = packed or await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code == 404 and _is_navigation(scope):
                return await self._page(scope)
            raise
        if request_path.startswith("/assets/"):
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
            response.headers["Vary"] = "Accept-Encoding"
        else:
            response.headers["Cache-Control"] = "no-cache"
        return response

    async def _packed(self, path: str, scope: Scope) -> Response | None:
        """The copy that was packed when the interface was built, for who takes it; None where there is none."""
        kind, _ = mimetypes.guess_type(path)
        if kind is None or not _takes_gzip(scope):
            return None
        try:
            response = await super().get_response(f"{path}.gz", scope)
        except HTTPException:
            return None
        response.headers["Content-Type"] = f"{kind}; charset=utf-8"
        response.headers["Content-Encoding"] = "gzip"
        return response

    async def _page(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405)
        if not self.index.is_file():
            return HTMLResponse(NOT_BUILT, headers={"Cache-Control": "no-store"})
        response = await super().get_response("index.html", scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _is_navigation(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    last = scope["path"].rsplit("/", 1)[-1]
    accept = headers.get(b"accept", b"").decode("latin-1")
    return scope["method"] in ("GET", "HEAD") and "text/html" in accept and "." not in last


def _takes_gzip(scope: Scope) -> bool:
    """Whether gzip is among the codings that the browser names; one with a weight of 0 is a refusal."""
    named = Headers(scope=scope).get("accept-encoding", "").split(",")
    codings = {
        name.strip().lower(): weight.replace(" ", "") for name, _, weight in (one.partition(";") for one in named)
    }
    return "gzip" in codings and codings["gzip"] not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}


def install_spa(app: FastAPI, directory: Path) -> None:
    """Answer what no route matched. A mount would also swallow wrong methods on known paths, which are 405."""
    files = SpaFiles(directory)

    async def unmatched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise HTTPException(404)
        await files(scope, receive, send)

    app.router.default = unmatched
