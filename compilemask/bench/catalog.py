"""The names of all providers, ours first. No torch here: a command line and the studio name them before anything heavy is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """kind: "impl" for ours. masks: what it can compute, in words."""

    name: str
    title: str
    kind: Literal["impl", "peer"]
    masks: str


CATALOG = (
    CatalogEntry("triton", "CompileMask Triton", "impl", "every mask"),
    CatalogEntry("hopper", "CompileMask Hopper", "impl", "every mask"),
    CatalogEntry("hopper_deterministic", "CompileMask Hopper, deterministic", "impl", "every mask"),
    CatalogEntry("torch", "CompileMask torch", "impl", "every mask"),
    CatalogEntry("reference", "CompileMask reference", "impl", "every mask, small sizes"),
    CatalogEntry("flex_attention", "FlexAttention, compiled", "peer", "every mask"),
    CatalogEntry("flex_attention_tuned", "FlexAttention, max-autotune", "peer", "every mask"),
    CatalogEntry("flex_attention_flash", "FlexAttention, FLASH back end", "peer", "masks with hidden cells"),
    CatalogEntry("fa4", "FlashAttention-4", "peer", "causal, full, sliding windows, documents"),
    CatalogEntry("varlen", "torch varlen attention", "peer", "documents"),
    CatalogEntry("sdpa", "torch SDPA", "peer", "every mask, dense unless causal or full"),
    CatalogEntry("sdpa_cudnn", "torch SDPA, cuDNN", "peer", "every mask, dense unless causal or full"),
    CatalogEntry("sdpa_flash", "torch SDPA, flash", "peer", "causal, full"),
    CatalogEntry("sdpa_math", "torch SDPA, dense math", "peer", "every mask, dense"),
    CatalogEntry("dense", "dense, eager", "peer", "every mask, dense"),
)
PROVIDER_NAMES = tuple(entry.name for entry in CATALOG)


def entry_named(name: str) -> CatalogEntry:
    """Raises ValueError with the known names, the closest first when one is close."""
    for entry in CATALOG:
        if entry.name == name:
            return entry
    close = get_close_matches(name, PROVIDER_NAMES, n=1)
    advice = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"no provider is named {name!r}; {advice}there are {', '.join(PROVIDER_NAMES)}")
