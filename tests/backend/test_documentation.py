"""What the server can say and can be told is in its manual, and the manual names nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from compilemask_studio import errors
from compilemask_studio.openapi import openapi_text
from compilemask_studio.settings import Settings

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "docs" / "http-api.md").read_text(encoding="utf-8")
SOURCES = [path.read_text(encoding="utf-8") for path in (ROOT / "backend" / "compilemask_studio").rglob("*.py")]


def test_every_error_code_is_documented_and_every_documented_code_exists() -> None:
    raised = {
        code for text in SOURCES for code in re.findall(r'(?:StudioError|error_response)\(\s*\d{3},\s*"(\w+)"', text)
    }
    statuses = set(errors._CODES.values()) - {"forbidden"}
    documented = set(re.findall(r"`([a-z_]+)`", MANUAL.split("## Errors")[1].split("## A launch")[0]))
    assert documented == raised | statuses


def test_every_setting_is_documented_and_every_documented_setting_exists() -> None:
    documented = set(re.findall(r"`COMPILEMASK_([A-Z_]+)`", MANUAL))
    assert documented == {name.upper() for name in Settings.model_fields}


def test_every_path_is_documented() -> None:
    described = MANUAL.replace("?active=true", "").replace("{id}", "{}")
    for path in re.findall(r'^    "(/api/[^"]*)": \{', openapi_text(), re.MULTILINE):
        plain = path.replace("{launch_id}", "{}").replace("{run_id}", "{}")
        assert plain in described, path
