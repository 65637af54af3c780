"""What answers look like beyond their JSON: types of files, headers of every answer."""

from __future__ import annotations

import re

from fastapi import Response

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

IMMUTABLE = {"Cache-Control": "public, max-age=31536000, immutable"}
"""Of what is addressed by its content."""


class BinaryResponse(Response):
    media_type = "application/octet-stream"


class PythonResponse(Response):
    media_type = "text/x-python"


def attachment_headers(filename: str) -> dict[str, str]:
    """Headers that make a browser save the answer; the name keeps letters, digits, `.`, `_` and `-` only."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", filename).lstrip(".") or "export"
    return {"Content-Disposition": f'attachment; filename="{safe}"'}


JSON_ERROR: dict[str, object] = {
    "description": "Error",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorResponse"}}},
}


def file_responses(media_type: str, schema: dict[str, object]) -> dict[int | str, dict[str, object]]:
    """The OpenAPI description of a route that answers with a file, and with JSON on errors."""
    return {200: {"content": {media_type: {"schema": schema}}}, "default": JSON_ERROR}
