"""The command that repeats a run from a shell."""

from __future__ import annotations

import json
import shlex

from compilemask_studio.schemas import LaunchCreate
from compilemask_studio.services.compile_service import BoundMask
