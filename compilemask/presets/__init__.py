"""Masks that people use, as texts of the language: one `.mask` file each."""

from __future__ import annotations

import difflib
from functools import cache
from importlib.resources import files

from compilemask.arguments import show

_SUFFIX = ".mask"


@cache
def preset_names() -> tuple[str, ...]:
    """The names of all presets, in alphabetical order."""
    entries = (entry.name for entry in files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in entries if name.endswith(_SUFFIX)))


def preset_source(name: str) -> str:
    """The text of one preset. An unknown name is a ValueError that names the nearest one."""
    if not isinstance(name, str):
        raise TypeError(f"a preset's name is a string, such as 'causal', got {show(name)}")
    return _read(name)


@cache
def _read(name: str) -> str:
    if name not in preset_names():
        near = difflib.get_close_matches(name, preset_names(), n=1, cutoff=0.5)
        advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(preset_names())}"
        raise ValueError(f"no preset is named {name!r}; {advice}")
    return files(__package__).joinpath(name + _SUFFIX).read_text(encoding="utf-8")
