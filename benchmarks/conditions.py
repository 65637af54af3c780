"""Under which conditions rows were measured: what every file of results begins with."""

from __future__ import annotations

import datetime
import os
import shlex
import sys

import torch

from compilemask.bench.environment import environment


def conditions(device: torch.device) -> dict[str, object]:
    """Hardware and versions, date and time (UTC), the command that reproduces the rows, and how busy the machine was before it."""
    return {
        "environment": environment(device),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0],
        "command": shlex.join(["python3", *sys.argv]),
    }
