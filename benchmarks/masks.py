"""Masks of the benchmark tables: a preset with its numbers, and, for some, the same mask as a FlexAttention user would write it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch

import compilemask
from benchmarks import predicates
from benchmarks.preset_sizes import SIZES, Values, parts
from compilemask.bench.flex_peers import MaskMod
from compilemask.bench.protocol import Activation

MaskModOf = Callable[[Values, torch.device], MaskMod]


@dataclass(frozen=True, slots=True)
class BenchmarkMask:
    """values(length): the preset's parameters; predicate(values, device): for create_block_mask, None to make it from the descriptor.

    own_length: the only length that the tables measure, for masks whose size is part of what they are.
    """

    preset: str
    values: Callable[[int], Values]
    predicate: MaskModOf | None = None
    activation: Activation = "softmax"
    own_length: int | None = None

    def descriptor(self, length: int) -> compilemask.MaskDescriptor:
        """The mask at this length; of one that differs in a batch the first."""
        mask = _program(self.preset).bind(**self.values(length))
        return mask.masks[0] if isinstance(mask, compilemask.MaskBatch) else mask

    def mask_mod(self, length: int, device: torch.device) -> MaskMod | None:
        """FlexAttention's predicate in closed form, its tables on `device`; None where nobody has written one."""
        return None if self.predicate is None else self.predicate(self.values(length), device)


@cache
def _program(preset: str) -> compilemask.MaskProgram:
    return compilemask.compile(compilemask.preset_source(preset))


SHORT = (0.5, 1.5, 1, 0.25, 2, 0.75, 1, 1)
"""Lengths of short documents or responses, in units of their mean, again and again."""
SHORT_LENGTH = 16_384


def _short(total: int, mean: int) -> list[int]:
    """Lengths that add up to `total`."""
    count = max(1, total // mean)
    return parts(total, tuple(itertools.islice(itertools.cycle(SHORT), count)))


def _short_documents(mean: int) -> BenchmarkMask:
    """Packed documents of this mean length."""

    def values(length: int) -> Values:
        return {"lengths": _short(length, mean)}

    return BenchmarkMask("documents", values, predicates.documents, own_length=SHORT_LENGTH)


def _short_responses(mean: int) -> BenchmarkMask:
    """A prompt of a sixteenth of the tokens, and responses of this mean length."""

    def values(length: int) -> Values:
        prompt = length // 16
        return {"prompt": prompt, "responses": _short(length - prompt, mean)}

    return BenchmarkMask("shared_prompt", values, predicates.shared_prompt, own_length=SHORT_LENGTH)


def _clear(radius: int) -> BenchmarkMask:
    return BenchmarkMask("clear", lambda n: {**SIZES["clear"](n), "radius": radius}, predicates.clear)


def _natten(predicate: MaskModOf, **grid: object) -> BenchmarkMask:
    """A neighbourhood in a grid of its own."""
    sides = [side for name in ("frames", "height", "width") if isinstance(side := grid.get(name, 1), int)]
    preset = "natten_3d" if "frames" in grid else "natten_2d"
    return BenchmarkMask(preset, lambda _n: dict(grid), predicate, own_length=math.prod(sides))


MASKS = {
    "causal": BenchmarkMask("causal", SIZES["causal"], predicates.causal),
    "clear": _clear(16),
    "documents": BenchmarkMask("documents", SIZES["documents"], predicates.documents),
    "shared_prompt": BenchmarkMask("shared_prompt", SIZES["shared_prompt"], predicates.shared_prompt),
    "hstu": BenchmarkMask("hstu", SIZES["hstu"], predicates.hstu),
    "sliding": BenchmarkMask("sliding_window", lambda n: {"n": n, "window": min(1024, n // 2)}, predicates.sliding),
    "prefix_lm": BenchmarkMask("prefix_lm", SIZES["prefix_lm"], predicates.prefix_lm),
    "full": BenchmarkMask("document_full", lambda n: {"lengths": [n]}, predicates.full),
    "natten_128_k33": _natten(predicates.natten, height=128, width=128, kernel=[33, 33]),
    "short_documents_256": _short_documents(256),
    "short_responses_256": _short_responses(256),
    "hstu_silu": BenchmarkMask("hstu", SIZES["hstu"], predicates.hstu, "silu"),
    "natten_64_k17": _natten(predicates.natten, height=64, width=64, kernel=[17, 17]),
    "natten_8x32x32_k5x9x9": _natten(predicates.natten_3d, frames=8, height=32, width=32, kernel=[5, 9, 9]),
    "clear_r8": _clear(8),
    "clear_r32": _clear(32),
    "short_documents_128": _short_documents(128),
    "short_documents_512": _short_documents(512),
    "short_responses_128": _short_responses(128),
    "short_responses_512": _short_responses(512),
    "natten": BenchmarkMask("natten_2d", SIZES["natten_2d"], predicates.natten),
}
"""The workloads of the tables, with predicates in closed form; those come first whose rows are wanted most."""


def preset_masks() -> dict[str, BenchmarkMask]:
    """Every preset that can be scaled to a length, by its name; a workload of the same preset lends it its predicate."""
    known = {mask.preset: mask.predicate for name, mask in MASKS.items() if name != "full"}
    return {
        name: BenchmarkMask(name, SIZES[name], known.get(name)) for name in compilemask.preset_names() if name in SIZES
    }
