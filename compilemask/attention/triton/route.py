"""Which of the two forward kernels a mask takes: over row tiles or over packed tiles; what the planner found cheaper."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from torch import Tensor

from compilemask.attention.dense_mask import seen_keys
from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.packed_tensors import PackedChoice, PackedTensors, choices, upload_packed
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import Tiles, tiles_of
from compilemask.attention.triton.configs import ForwardConfig
from compilemask.attention.triton.launch import ForwardLaunch, choose_config
from compilemask.attention.triton.packed_launch import PackedLaunch, choose_packed_config
from compilemask.attention.triton.relaunch import layouts
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.plan import PatchedGrid, plan_packed


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """A mask ready for one of the kernels, for tensors like those it was chosen for. reason: why this one, in words.

    plan_ms: time that choosing, planning and uploading took on the host, when it was done first.
    """

    kind: Literal["rows", "packed"]
    tensors: Tiles | PackedTensors
    config: ForwardConfig
    reason: str
    plan_ms: float

    def run(
        self, q: Tensor, k: Tensor, v: Tensor, options: ScoreOptions, sinks: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """(o, lse); see launch.forward."""
        return self.launch(q, k, v, options, sinks)(q, k, v, sinks)

    def launch(
        self, q: Tensor, k: Tensor, v: Tensor, options: ScoreOptions, sinks: Tensor | None = None
    ) -> ForwardLaunch | PackedLaunch:
        """`run` for tensors of the layout of these; kept with the mask's tiles for the next such call."""
        tensors = self.tensors

        def build() -> ForwardLaunch | PackedLaunch:
            if isinstance(tensors, PackedTensors):
                return PackedLaunch(q, k, v, tensors, options, self.config)
            return ForwardLaunch(q, k, v, tensors, options, self.config)

        found: ForwardLaunch | PackedLaunch = tensors.launches.get(
            (options, self.config, *layouts(q, k, v, sinks)), build
        )
        return found

    @property
    def detail(self) -> str:
        """Tiles and launch options, in words."""
        config = self.config
        tiles = f"{config.block_m}x{config.block_n}"
        if isinstance(self.tensors, PackedTensors):
            patches = ", ".join("x".join(map(str, patched.patch)) for patched in self.tensors.grids)
            loads = f"chunks of {self.tensors.plan.chunk}"
            tiles = f"{patches} patches, {tiles} packed tiles" if patches else f"{tiles} packed tiles"
        else:
            loads = "tensor descriptors" if config.tma else "pointers"
            tiles = f"{tiles} tiles"
        registers = f", {config.max_registers} registers" if config.max_registers else ""
        return f"{tiles}, {config.num_warps} warps, {config.num_stages} stages{registers}, {loads}"


def choose_route(q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor) -> Route:
    """The kernel, plan and configuration for these tensors; the choice and its plan are kept for the next call."""
    config = choose_packed_config(q, v)
    choice = _choice(q, v, mask, config)
    if choice.packed is not None:
        return Route("packed", choice.packed, config, choice.reason, choice.build_ms)
    rows = row_route(q, k, v, mask)
    return Route("rows", rows.tensors, rows.config, choice.reason, choice.build_ms + rows.plan_ms)


def batch_route(q: Tensor, k: Tensor, v: Tensor, masks: MaskBatch) -> Route | None:
    """Row tiles of all masks in one launch; None where the planner prefers packed tiles for one of them."""
    config = choose_packed_config(q, v)
    if any(_choice(q, v, mask, config).packed is not None for mask in masks.masks):
        return None
    return row_route(q, k, v, masks)


def row_route(q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor | MaskBatch | DeviceMask) -> Route:
    """Row tiles, whatever the planner would choose."""
    config = choose_config(q, k, v)
    tensors = tiles_of(mask, config.block_m, config.block_n, q.device)
    return Route("rows", tensors, config, "asked for", tensors.build_ms)


def packed_route(
    q: Tensor,
    v: Tensor,
    mask: MaskDescriptor,
    *,
    chunk: int = 16,
    grids: tuple[PatchedGrid, ...] = (),
    config: ForwardConfig | None = None,
) -> Route:
    """Packed tiles, whatever the planner would choose; planned afresh. chunk, grids: as plan_packed takes them."""
    config = config or choose_packed_config(q, v)
    began = perf_counter()
    plan = plan_packed(mask, config.block_m, config.block_n, chunk, grids)
    tensors = upload_packed(plan, seen_keys(mask), q.device, grids)
    return Route("packed", tensors, config, "asked for", (perf_counter() - began) * 1e3)


def _choice(q: Tensor, v: Tensor, mask: MaskDescriptor, config: ForwardConfig) -> PackedChoice:
    # A tile's work is q k^T and p v, of which each may have a dimension of its own.
    mean_dim = (q.shape[3] + v.shape[3] + 1) // 2
    return choices.get(mask, config.block_m, config.block_n, mean_dim, q.device)
