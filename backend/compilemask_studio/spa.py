"""The built user interface: files as they are, the page itself for every address that a person navigates to."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
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
            response = await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code == 404 and _is_navigation(scope):
                return await self._page(scope)
            raise
        if request_path.startswith("/assets/"):
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        else:
            response.headers["Cache-Control"] = "no-cache"
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


def install_spa(app: FastAPI, directory: Path) -> None:
    """Answer what no route matched. A mount would also swallow wrong methods on known paths, which are 405."""
    files = SpaFiles(directory)

    async def unmatched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise HTTPException(404)
        await files(scope, receive, send)

    app.router.default = unmatched
