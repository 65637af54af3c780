"""The command that repeats a run from a shell."""

from __future__ import annotations

import json
import shlex

from compilemask.presets import preset_names, preset_source
from compilemask_studio.schemas import LaunchCreate
from compilemask_studio.services.compile_service import BoundMask


def bench_command(mask: BoundMask, provider: str, body: LaunchCreate) -> str:
    """`compilemask bench ...`, quoted for a POSIX shell.

    A text that is no preset has to be in a file first; a comment line in front says which.
    """
    shape = body.shape
    words = ["compilemask", "bench", _file_or_preset(mask)]
    for name, value in mask.values.items():
        words += ["--set", f"{name}={json.dumps(value, separators=(',', ':'))}"]
    words += ["--impl", provider, "--batch", str(shape.batch), "--heads", str(shape.num_q_heads)]
    words += ["--kv-heads", str(shape.num_kv_heads), "--head-dim", str(shape.head_dim)]
    words += ["--dtype", body.dtype, "--seed", str(body.seed)]
    if body.direction != "forward":
        words += ["--direction", body.direction]
    command = shlex.join(words)
    return command if _is_preset(mask) else f"# save the mask text as {_file_or_preset(mask)} first\n{command}"


def _is_preset(mask: BoundMask) -> bool:
    return mask.name in preset_names() and preset_source(mask.name).strip() == mask.source.strip()


def _file_or_preset(mask: BoundMask) -> str:
    return mask.name if _is_preset(mask) else f"{mask.name}.mask"
