"""Tensor maps that are kept: Triton encodes one from each tensor descriptor at every launch, in Python."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from triton.backends.nvidia.driver import make_tensordesc_arg
from triton.compiler import CompiledKernel
from triton.runtime import driver
from triton.tools.tensor_descriptor import TensorDescriptor

_MOST_MAPS = 64
_SHAPE = re.compile(r"tensordesc<[^[>]*\[([^]]*)\]")
_SPARE = len(inspect.signature(make_tensordesc_arg).parameters) - 2


class TensorMaps:
    """The encoded descriptors of one parameter by the address of their tensors, which all have one layout."""

    __slots__ = ("_encoding", "_known")

    def __init__(self, encoding: Mapping[str, object]) -> None:
        """encoding: what the kernel was compiled for, an entry of tensordesc_meta."""
        self._encoding, self._known = encoding, dict[int, list[object]]()

    def of(self, descriptor: TensorDescriptor) -> list[object]:
        """What a kernel takes in its place: the map, shape and strides."""
        address = descriptor.base.data_ptr()
        found = self._known.get(address)
        if found is None:
            if len(self._known) >= _MOST_MAPS:
                self._known.clear()
            # Newer versions of Triton have a third parameter, which this function does not read.
            found = self._known[address] = make_tensordesc_arg(descriptor, self._encoding, *(None,) * _SPARE)
        return found


def taking_maps(compiled: CompiledKernel) -> tuple[Callable[..., None], list[TensorMaps]]:
    """(the kernel's launcher, which takes the lists of TensorMaps in place of descriptors; one TensorMaps for each descriptor).

    It is the launcher that Triton has for the kernel, without the function around it that encodes the descriptors.
    Without descriptors, or where they are not encoded: `run` and none.
    """
    encodings = getattr(compiled.metadata, "tensordesc_meta", None)
    if not encodings or None in encodings:
        return compiled.run, []
    flat: dict[object, object] = {}
    for name, kind in compiled.src.signature.items():
        shape = _SHAPE.match(kind) if isinstance(kind, str) else None
        if shape is None:
            flat[name] = kind
            continue
        ndim = shape.group(1).count(",") + 1
        kinds = ("nvTmaDesc", *["i32"] * ndim, *["i64"] * ndim)
        flat |= {(name, place): each for place, each in enumerate(kinds)}
    source = SimpleNamespace(fn=compiled.src.fn, constants={}, signature=flat)
    launcher: Any = driver.active.launcher_cls(source, compiled.metadata._replace(tensordesc_meta=None))
    return launcher, [TensorMaps(encoding) for encoding in encodings]
