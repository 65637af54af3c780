"""What can be measured on a machine."""

from __future__ import annotations

from typing import Literal

from compilemask_studio.schemas.base import Public


class ProviderInfo(Public):
    """An impl of ours or a peer: usable here, and if not why not (and what would help)."""

    name: str
    title: str
    kind: Literal["impl", "peer"]
    usable: bool
    reason: str | None


class DeviceInfo(Public):
    name: str
    kind: Literal["cpu", "cuda"]
    memory_bytes: int | None
    detail: str


class Environment(Public):
    state: Literal["probing", "ready", "failed"]
    reason: str | None
    providers: list[ProviderInfo]
    devices: list[DeviceInfo]
    versions: dict[str, str]
