"""Attention masks as a few lines of a region language, compiled to exact integers and run by kernels that skip the rest.

Importing this package imports no torch; `compilemask.attention` and `compilemask.nn` are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from compilemask.compiler import MaskProgram, compile
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.diagnostics import Diagnostic, MaskError
from compilemask.plan import TilePlan, plan_tiles
from compilemask.presets import preset_names, preset_source

if TYPE_CHECKING:
    from compilemask import nn
    from compilemask.attention import attention

__version__ = "0.1.0"

__all__ = [
    "Diagnostic",
    "MaskBatch",
    "MaskDescriptor",
    "MaskError",
    "MaskProgram",
    "TilePlan",
    "__version__",
    "attention",
    "compile",
    "nn",
    "plan_tiles",
    "preset_names",
    "preset_source",
]


def __getattr__(name: str) -> object:
    if name in ("attention", "nn"):
        try:
            return importlib.import_module(f"compilemask.{name}")
        except ModuleNotFoundError as problem:
            if problem.name != "torch":
                raise
            raise ModuleNotFoundError(
                f"compilemask.{name} needs PyTorch; install it with `pip install 'compilemask-studio[attention]'`",
                name="torch",
            ) from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
