"""The speeds that this project has set itself, and what measured rows say about them. A ratio is a peer's time over ours in one run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.masks import MASKS, SHORT_LENGTH
from benchmarks.result_files import newest
from benchmarks.speed_rows import pairs
from compilemask.bench.rows import Row

STRUCTURED = ("sliding", "documents", "prefix_lm", "hstu", "shared_prompt")
CLEAR = ("clear_r8", "clear", "clear_r32")
NATTEN = ("natten_64_k17", "natten_128_k33", "natten_8x32x32_k5x9x9")
SHORT = tuple(name for name, mask in MASKS.items() if mask.own_length == SHORT_LENGTH and name not in NATTEN)
FLEX, FLASH, FA4, CUDNN, VARLEN = "flex_attention", "flex_attention_flash", "fa4", "sdpa_cudnn", "varlen"
ANY_PEER = (FLASH, FLEX, FA4, CUDNN, VARLEN)
LENGTHS = (8192, 32768)
LONG = (32768,)


@dataclass(frozen=True, slots=True)
class Target:
    """For each mask at each length (its own, where it has one): our time against that of the fastest of some peers.

    mean: the ratio that all of them are to reach together, as a geometric mean.
    """

    masks: tuple[str, ...]
    direction: str
    wanted: float
    against: tuple[str, ...]
    ours: str = "hopper"
    lengths: tuple[int, ...] = LENGTHS
    head_dim: int = 128
    dtype: str = "bfloat16"
    mean: float | None = None

    def cases(self) -> Iterator[tuple[str, int]]:
        """(mask, length) of each."""
        for mask in self.masks:
            own_length = MASKS[mask].own_length
            yield from ((mask, length) for length in ((own_length,) if own_length else self.lengths))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the rows say about one case of a target. ours, peer: the rows that decide, None where there are none yet."""

    target: Target
    mask: str
    length: int
    ours: Row | None = None
    peer: Row | None = None

    @property
    def ratio(self) -> float | None:
        """The peer's time over ours; None where one of them is not measured."""
        if self.ours is None or self.peer is None:
            return None
        return float(self.peer["median_ms"] / self.ours["median_ms"])

    @property
    def verdict(self) -> str:
        """ "met", "missed" or "not measured"."""
        if self.ratio is None:
            return "not measured"
        return "met" if self.ratio >= self.target.wanted else "missed"


def _both(masks: tuple[str, ...], forward: float, backward: float, against: tuple[str, ...]) -> list[Target]:
    return [Target(masks, "forward", forward, against), Target(masks, "forward+backward", backward, against)]


_HOPPER = [
    *_both(("causal",), 1.05, 1.0, (FA4,)),
    Target(("causal",), "forward+backward", 0.88, (FA4,), "hopper_deterministic"),
    *_both(("full",), 0.97, 0.95, (FA4, CUDNN)),
    Target(STRUCTURED, "forward", 1.0, ANY_PEER, mean=1.15),
    Target(STRUCTURED, "forward+backward", 1.35, (FLEX,)),
    Target(("clear",), "forward", 2.87, ANY_PEER, lengths=LONG),
    Target(("clear_r8", "clear_r32"), "forward", 2.0, ANY_PEER, lengths=LONG),
    Target(CLEAR, "forward+backward", 2.0, ANY_PEER, lengths=LONG),
    *_both(NATTEN, 2.0, 2.0, ANY_PEER),
    *_both(SHORT, 1.5, 1.5, ANY_PEER),
]
_LESS = {"forward": 0.95, "forward+backward": 1.0}
_ALL = tuple(MASKS)
_TRITON = [
    Target(tuple(name for name in _ALL if name != "hstu_silu"), direction, 1.1, (FLEX,), "triton", head_dim=head_dim)
    for head_dim in (128, 64)
    for direction in ("forward", "forward+backward")
]
HOPPER_TARGETS = (
    *_HOPPER,
    *(
        replace(target, wanted=_LESS[target.direction], mean=None, **change)
        for change in ({"head_dim": 64}, {"dtype": "float16"})
        for target in _HOPPER
        if target.ours == "hopper"
    ),
)
TRITON_TARGETS = (
    *_TRITON,
    Target(("clear", "natten"), "forward", 2.0, (FLEX,), "triton", lengths=LONG),
)


def outcomes(targets: Sequence[Target], rows: Sequence[Row]) -> list[Outcome]:
    """Of every case of every target, by the fastest of its peers' newest rows; rows of one device."""
    last = {id(row) for row in newest(rows)}
    found = [(ours, peer) for ours, peer in pairs(rows) if id(peer) in last]
    return [_outcome(target, mask, length, found) for target in targets for mask, length in target.cases()]


def _outcome(target: Target, mask: str, length: int, found: Sequence[tuple[Row, Row]]) -> Outcome:
    fields = ("mask", "length", "direction", "head_dim", "dtype", "provider")
    wanted = (mask, length, target.direction, target.head_dim, target.dtype, target.ours)
    own = [
        Outcome(target, mask, length, ours, peer)
        for ours, peer in found
        if peer["provider"] in target.against and tuple(ours[name] for name in fields) == wanted
    ]
    return min(own, key=lambda outcome: outcome.ratio or math.inf, default=Outcome(target, mask, length))


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of positive ratios, one at least."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def wanted_ratio(ours: Row, peer: Row) -> float | None:
    """The ratio that is wanted of a row of ours against a peer's; None where none has been set. The largest of several."""
    fields = ("direction", "head_dim", "dtype")
    return max(
        (
            target.wanted
            for target in (*HOPPER_TARGETS, *TRITON_TARGETS)
            if ours["provider"] == target.ours
            and peer["provider"] in target.against
            and all(ours[name] == getattr(target, name) for name in fields)
            and (ours["mask"], ours["length"]) in target.cases()
        ),
        default=None,
    )
