"""Whether a launch fits into memory, from its numbers alone, before anything is allocated."""

from __future__ import annotations

from compilemask.bench import memory
from compilemask.bench.protocol import CaseSpec
from compilemask.descriptor import MaskDescriptor
from compilemask_studio.errors import StudioError
from compilemask_studio.schemas import Environment, LaunchCreate

USABLE_SHARE = 0.8
"""The rest is for the process itself and its libraries."""


def needed_bytes(body: LaunchCreate, descriptor: MaskDescriptor, environment: Environment) -> int:
    """Bytes that the most demanding provider's case takes at its peak where it would run; as the worker counts them."""
    kind = "cuda" if any(device.kind == "cuda" for device in environment.devices) else "cpu"
    shape = body.shape
    cases = [
        CaseSpec(
            case_id="",
            provider=provider,
            mask="",
            batch=shape.batch,
            num_q_heads=shape.num_q_heads,
            num_kv_heads=shape.num_kv_heads,
            head_dim=shape.head_dim,
            dtype=body.dtype,
            direction=body.direction,
        )
        for provider in body.providers
    ]
    return max(memory.needed_bytes(case, descriptor, kind) for case in cases)


def available_bytes(environment: Environment, limit_bytes: int | None) -> tuple[int, str] | None:
    """(bytes, of what): the given limit, else the first GPU's memory, else what this machine has free; None if unknown."""
    if limit_bytes is not None:
        return limit_bytes, "the limit that is set"
    for device in environment.devices:
        if device.kind == "cuda" and device.memory_bytes is not None:
            return int(device.memory_bytes * USABLE_SHARE), f"{USABLE_SHARE:.0%} of the memory of {device.name}"
    free = memory.free_host_bytes()
    return None if free is None else (int(free * USABLE_SHARE), f"{USABLE_SHARE:.0%} of the memory that is free here")


def check_memory(
    body: LaunchCreate, descriptor: MaskDescriptor, environment: Environment, limit_bytes: int | None
) -> None:
    """StudioError 409 `too_much_memory`, with both numbers, when the launch cannot fit."""
    available = available_bytes(environment, limit_bytes)
    needed = needed_bytes(body, descriptor, environment)
    if available is not None and needed > available[0]:
        raise StudioError(
            409,
            "too_much_memory",
            f"this launch needs {_gigabytes(needed)} for its tensors and their reference, more than "
            f"{_gigabytes(available[0])}, {available[1]}",
            "take fewer tokens, heads or batch items",
        )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.2f} GB"
