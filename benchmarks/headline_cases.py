"""The cases that the targets need, those that say most first: a run that is cut short has measured what is wanted most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from benchmarks.masks import MASKS
from benchmarks.speed_cases import Case
from benchmarks.targets import NATTEN, SHORT
from compilemask.bench.protocol import Direction, Dtype

HEADS = 16
_MAIN = ("causal", "full", "documents", "shared_prompt", "hstu", "sliding", "prefix_lm", "clear")
_OWN_LENGTH = ("natten_128_k33", "short_documents_256", "short_responses_256", "natten_64_k17", "natten_8x32x32_k5x9x9")
_MORE = ("clear_r8", "clear_r32", *(name for name in SHORT if name not in _OWN_LENGTH))
_FOR_FLASH = (*_MAIN[2:], *_OWN_LENGTH[:3])
_DIRECTIONS: tuple[Direction, ...] = ("forward", "forward+backward")
_SHORT_PEERS = dict.fromkeys((name for name in SHORT if "documents" in name), ("varlen", "fa4"))
_NAMED = {
    "causal": ("sdpa_cudnn", "fa4"), "full": ("sdpa_cudnn", "fa4"), "sliding": ("fa4",), "documents": ("varlen", "fa4"),
    **_SHORT_PEERS,
}  # fmt: skip
assert set(NATTEN) < set(_OWN_LENGTH)


def headline_cases(usable: Callable[[str], bool]) -> list[Case]:
    """usable(provider): whether it runs here; the others are left out, and cases that then have no peer or none of ours."""
    here = {provider: usable(provider) for case in _wanted() for provider in case.providers}
    cases = dict.fromkeys(
        replace(case, providers=tuple(provider for provider in case.providers if here[provider])) for case in _wanted()
    )
    return [case for case in cases if "hopper" in case.providers and len(case.providers) > 1]


def _wanted() -> Iterator[Case]:
    all_of_ours = ("hopper", "triton", "flex_attention")
    yield from _cases(_MAIN, 32_768, all_of_ours)
    yield from _cases(_OWN_LENGTH, 0, all_of_ours)
    yield from _cases(_MAIN, 8192, all_of_ours)
    yield from _cases(("hstu_silu",), 32_768, ("hopper", "triton"))
    yield from _cases(_MORE, 32_768, all_of_ours)
    yield from _cases(_FOR_FLASH, 32_768, ("hopper", "flex_attention_flash"))
    for length in (32_768, 8192):
        yield from _cases(_MAIN, length, ("hopper", "flex_attention"), head_dim=64)
    for length in (32_768, 8192):
        yield from _cases(_MAIN, length, ("hopper", "flex_attention"), dtype="float16")
    yield from _cases(("hstu_silu",), 8192, ("hopper", "triton"))
    yield from _cases(_FOR_FLASH, 8192, ("hopper", "flex_attention_flash"))


def _cases(
    names: tuple[str, ...], length: int, providers: tuple[str, ...], head_dim: int = 128, dtype: Dtype = "bfloat16"
) -> Iterator[Case]:
    """Both directions of each mask, with the peers that have a word for it beside FlexAttention's Triton back end."""
    for name in names:
        for direction in _DIRECTIONS:
            chosen = list(providers)
            if "flex_attention" in providers:
                chosen += _NAMED.get(name, ())
            if name in ("causal", "full") and direction != "forward" and (head_dim, dtype) == (128, "bfloat16"):
                chosen.insert(1, "hopper_deterministic")
            yield Case(
                name, False, MASKS[name].own_length or length, head_dim, HEADS, HEADS, dtype, direction, tuple(chosen)
            )
