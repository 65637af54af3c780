"""The one shape of errors."""

from __future__ import annotations

from compilemask_studio.schemas.base import Public


class ErrorBody(Public):
    code: str
    message: str
    hint: str | None = None


class ErrorResponse(Public):
    error: ErrorBody
