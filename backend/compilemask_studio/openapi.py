"""Print the OpenAPI document: `python -m compilemask_studio.openapi > frontend/openapi.json`."""

from __future__ import annotations

import json
import sys

from compilemask_studio.main import create_app
from compilemask_studio.settings import Settings


def openapi_text() -> str:
    """The document as text, the same on every machine (keys sorted, indented, with a final newline)."""
    document = create_app(Settings(database_url="sqlite://", _env_file=None)).openapi()
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(openapi_text())
