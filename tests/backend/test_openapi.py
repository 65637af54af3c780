"""The committed document is the application's, and every route keeps the house's conventions."""

from __future__ import annotations

import json
from pathlib import Path

from compilemask_studio.openapi import openapi_text

COMMITTED = Path(__file__).parents[2] / "frontend" / "openapi.json"


def test_the_committed_document_is_the_applications() -> None:
    hint = "run `python -m compilemask_studio.openapi > frontend/openapi.json` and the client's generator"
    assert COMMITTED.read_text() == openapi_text(), hint


def test_every_operation_describes_its_errors_in_the_one_shape() -> None:
    for path, operations in json.loads(openapi_text())["paths"].items():
        for operation in operations.values():
            schema = operation["responses"]["default"]["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ErrorResponse"}, path
            assert "422" not in operation["responses"], path
