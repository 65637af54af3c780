"""Wheel build hook: the studio's user interface goes into the wheel, or the build fails."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

UI_INDEX = Path("backend/compilemask_studio/_static/index.html")


class StudioBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the user interface when it is missing. An editable install builds nothing: `make ui` does that."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if version == "editable":
            return
        index = Path(self.root) / UI_INDEX
        if not index.exists():
            frontend = Path(self.root) / "frontend"
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=frontend, check=True)
            subprocess.run(["npm", "run", "build"], cwd=frontend, check=True)
        if not index.exists():
            raise FileNotFoundError(f"the user interface was not built: {index} is missing; run `make ui`")
