"""Whether a launch fits into memory, from its numbers alone, before anything is allocated."""

from __future__ import annotations

from pathlib import Path

from compilemask.descriptor import MaskDescriptor
from compilemask_studio.errors import StudioError
from compilemask_studio.schemas import Environment, LaunchCreate

ITEM_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
REFERENCE_ITEM_BYTES = 8
USABLE_SHARE = 0.8
"""The rest is for the process itself, its libraries and the tiles in work."""


def needed_bytes(body: LaunchCreate, descriptor: MaskDescriptor) -> int:
    """Bytes of q, k, v and o in the launch's dtype and, for the verification, in float64."""
    shape = body.shape
    q_elements = shape.batch * shape.num_q_heads * descriptor.q_len * shape.head_dim
    kv_elements = 2 * shape.batch * shape.num_kv_heads * descriptor.kv_len * shape.head_dim
    return (2 * q_elements + kv_elements) * (ITEM_BYTES[body.dtype] + REFERENCE_ITEM_BYTES)


def available_bytes(environment: Environment, limit_bytes: int | None) -> tuple[int, str] | None:
    """(bytes, of what): the given limit, else the first GPU's memory, else what this machine has free; None if unknown."""
    if limit_bytes is not None:
        return limit_bytes, "the limit that is set"
    for device in environment.devices:
        if device.kind == "cuda" and device.memory_bytes is not None:
            return int(device.memory_bytes * USABLE_SHARE), f"{USABLE_SHARE:.0%} of the memory of {device.name}"
    free = _free_memory()
    return None if free is None else (int(free * USABLE_SHARE), f"{USABLE_SHARE:.0%} of the memory that is free here")


def check_memory(
    body: LaunchCreate, descriptor: MaskDescriptor, environment: Environment, limit_bytes: int | None
) -> None:
    """StudioError 409 `too_much_memory`, with both numbers, when the launch cannot fit."""
    available = available_bytes(environment, limit_bytes)
    needed = needed_bytes(body, descriptor)
    if available is not None and needed > available[0]:
        raise StudioError(
            409,
            "too_much_memory",
            f"this launch needs {_gigabytes(needed)} for its tensors and their reference, more than "
            f"{_gigabytes(available[0])}, {available[1]}",
            "take fewer tokens, heads or batch items",
        )


def _free_memory() -> int | None:
    """Bytes that new processes can have without swapping, as Linux estimates it; None elsewhere."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    value = fields.get("MemAvailable", "").split()
    return int(value[0]) * 1024 if value and value[0].isdecimal() else None


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.2f} GB"
