"""One shape for every error that leaves the server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException

from compilemask_studio.responses import SECURITY_HEADERS
from compilemask_studio.schemas import ErrorBody, ErrorResponse

logger = logging.getLogger("compilemask_studio")

_CODES = {
    400: "bad_request",
    401: "token_needed",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid_request",
}


class StudioError(Exception):
    """A request that cannot be answered: HTTP status, stable code, what happened, what to do."""

    def __init__(self, status: int, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint


def error_response(
    status: int, code: str, message: str, hint: str | None = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    body = ErrorResponse(error=ErrorBody(code=code, message=message, hint=hint))
    return JSONResponse(body.model_dump(), status_code=status, headers=headers)


def describe_validation(errors: Sequence[Any]) -> str:
    """The first problem in words that name the field, and how many more there are."""
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    if first["type"] == "json_invalid":
        return f"the body is not valid JSON: {first.get('ctx', {}).get('error', first['msg'])}"
    return f"{place}: {_wanted(first)[:300]}{more}"


def _wanted(error: Any) -> str:
    """What a field may hold and what it got instead, in words for a person at the page, too."""
    given, limit = error.get("input"), error.get("ctx", {}).get("max_length")
    match error["type"]:
        case "string_too_long" if isinstance(given, str):
            return f"{len(given):,} characters are too many, {limit:,} is the most"
        case "too_long" if isinstance(given, list | dict):
            return f"{len(given):,} entries are too many, {limit:,} is the most"
        case "int_parsing":
            return "must be a whole number"
        case _:
            return str(error["msg"])


def _unreadable(cause: BaseException | None) -> str | None:
    """Why a body could not be read as JSON at all, where that is known."""
    match cause:
        case UnicodeDecodeError():
            return "the body is not JSON: it is not UTF-8 text"
        case RecursionError():
            return "the body is not JSON that can be read here: its lists are nested too deep"
        case ValueError():
            return "the body is not JSON that can be read here: a number in it has too many digits"
        case _:
            return None


def _database_words(reason: str) -> tuple[str, str]:
    """What happened to the database and what to do, from SQLite's own word for it."""
    match reason:
        case "database or disk is full":
            return (
                "the disk with the studio's database is full, and nothing was stored",
                "free some space and try again",
            )
        case "attempt to write a readonly database" | "unable to open database file":
            return f"the studio cannot write to its database: {reason}", "look at the rights of the file and its folder"
        case _:
            return "the database did not answer in time", "try again"


def install_error_handlers(app: FastAPI) -> None:
    """Route every kind of failure into `ErrorResponse`."""

    @app.exception_handler(StudioError)
    def studio_error(_: Request, error: StudioError) -> JSONResponse:
        return error_response(error.status, error.code, error.message, error.hint)

    @app.exception_handler(RequestValidationError)
    def validation_error(_: Request, error: RequestValidationError) -> JSONResponse:
        return error_response(422, "invalid_request", describe_validation(error.errors()))

    @app.exception_handler(HTTPException)
    def http_error(request: Request, error: HTTPException) -> JSONResponse:
        code = _CODES.get(error.status_code, f"http_{error.status_code}")
        message = str(error.detail)
        if error.status_code == 400:
            message = _unreadable(error.__cause__) or message
        if error.status_code == 404 and message == HTTPStatus.NOT_FOUND.phrase:
            message = f"there is nothing at {request.url.path[:200]}"
        if error.status_code == 405:
            message = f"{request.method} is not possible at {request.url.path[:200]}"
        headers = dict(error.headers) if error.headers else None
        return error_response(error.status_code, code, message, headers=headers)

    @app.exception_handler(OperationalError)
    def database_error(request: Request, error: OperationalError) -> JSONResponse:
        logger.error("database failed in %s %s: %s", request.method, request.url.path, error.orig)
        return error_response(503, "database_unavailable", *_database_words(str(error.orig)))

    @app.exception_handler(Exception)
    def unexpected_error(request: Request, error: Exception) -> JSONResponse:
        # The server that runs the application logs the traceback.
        logger.error("unexpected error in %s %s: %r", request.method, request.url.path, error)
        hint = "the server's log has the details; please report it"
        # This answer is made outside of all middleware, so it brings the headers itself.
        return error_response(500, "internal", "the server failed on this request", hint, SECURITY_HEADERS)
