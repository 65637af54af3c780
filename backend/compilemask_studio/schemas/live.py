"""What the stream of events sends."""

from __future__ import annotations

from typing import Literal

from compilemask_studio.schemas.base import Public
from compilemask_studio.schemas.launches import LaunchSummary
from compilemask_studio.schemas.runs import RunPublic


class LaunchEvent(Public):
    kind: Literal["launch"] = "launch"
    launch: LaunchSummary


class RunEvent(Public):
    kind: Literal["run"] = "run"
    run: RunPublic


class ResetEvent(Public):
    """Events were missed: read the lists again."""

    kind: Literal["reset"] = "reset"
