"""Launches that repeat: what Triton and we derive from the layout of the tensors is derived once."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from triton import knobs
from triton.compiler import CompiledKernel
from triton.runtime import driver
from triton.tools.tensor_descriptor import TensorDescriptor

from compilemask.attention.triton.tensor_maps import TensorMaps, taking_maps

_ALIGNMENT = 16


class Relaunch:
    """A kernel with its grid, constants and options, for arguments that differ in nothing but addresses and data.

    The first launch lets Triton find or compile the kernel for its arguments, which takes longer than all the rest of a
    launch; the next ones go to that kernel. So all calls must have arguments of one layout: equal numbers, tensors of equal
    dtypes, where the first had one, and all of them aligned to 16 bytes, or those that were not.
    """

    __slots__ = (
        "_compiled", "_constants", "_device", "_fixed", "_grid", "_kernel", "_maps", "_options", "_run", "_stream_of", "_tail"
    )  # fmt: skip

    def __init__(
        self, kernel: Any, num_programs: int, constants: Sequence[object], options: Mapping[str, object],
        fixed: Sequence[object] = (),
    ) -> None:  # fmt: skip
        """fixed: arguments that are the same in every launch, before the constants, which are the kernel's last parameters.

        options: of Triton's launch.
        """
        self._kernel, self._grid = kernel, (num_programs, 1, 1)
        self._fixed, self._constants, self._options = tuple(fixed), tuple(constants), dict(options)
        self._compiled: CompiledKernel | None = None
        self._tail: tuple[object, ...] = ()
        self._maps: dict[int, TensorMaps] = {}

    def __call__(self, *args: object) -> None:
        """Launch on the current device, the same each time, and its current stream. args: the kernel's first parameters."""
        compiled = self._compiled
        if compiled is None:
            self._first(args)
            return
        if knobs.runtime.launch_enter_hook.calls or knobs.runtime.launch_exit_hook.calls:
            compiled[self._grid](*[x.data_ptr() if isinstance(x, Tensor) else x for x in args], *self._tail)
            return
        # Triton asks the driver about every tensor that it is given, and takes an address as it is.
        given: list[object] = []
        for place, x in enumerate(args):
            if isinstance(x, Tensor):
                given.append(x.data_ptr())
            elif place in self._maps:
                given += self._maps[place].of(x)  # type: ignore[arg-type]
            else:
                given.append(x)
        self._run(
            *self._grid, self._stream_of(self._device), compiled.function, compiled.packed_metadata,
            None, None, None, *given, *self._tail,
        )  # fmt: skip

    def _first(self, args: Sequence[object]) -> None:
        compiled = self._kernel[self._grid](*args, *self._fixed, *self._constants, **self._options)
        if isinstance(compiled, CompiledKernel):
            fixed = (x.data_ptr() if isinstance(x, Tensor) else x for x in self._fixed)
            self._device, self._stream_of = driver.active.get_current_device(), driver.active.get_current_stream
            self._tail = (*fixed, *self._constants)
            self._run, maps = taking_maps(compiled)
            # Gluon's tensor descriptors are of a type of their own.
            places = [place for place, x in enumerate(args) if hasattr(x, "block_shape")] if maps else []
            self._maps = dict(zip(places, maps, strict=True))
            self._compiled = compiled


def layouts(*tensors: Tensor | None) -> tuple[object, ...]:
    """What a Relaunch and a KeptDescriptor depend on: equal for tensors that can take each other's place in a launch."""
    return tuple(None if x is None else (x.shape, x.stride(), x.dtype, x.data_ptr() % _ALIGNMENT == 0) for x in tensors)


class KeptDescriptor:
    """A tensor descriptor, Triton's or Gluon's, for all tensors of the layout of one that can have one (launch.fits_tma), checked once."""

    __slots__ = ("_fields", "_kind")

    def __init__(self, checked: Any) -> None:
        self._kind, self._fields = type(checked), {**vars(checked), "base": None}

    def of(self, tensor: Tensor) -> Any:
        """The descriptor of a tensor of that layout."""
        found = self._kind.__new__(self._kind)
        found.__dict__.update(self._fields, base=tensor)
        return found


def boxes(tensor: Tensor, rows: int, block_dim: int) -> KeptDescriptor:
    """Loads or stores `rows` x `block_dim` of one head of a tensor [batch, heads, len, dim] at a time."""
    return KeptDescriptor(TensorDescriptor(tensor, list(tensor.shape), legal_strides(tensor), [1, 1, rows, block_dim]))


def in_line(tensor: Tensor, block: int) -> KeptDescriptor:
    """Of contiguous tensors as one row of numbers, loaded `block` at a time."""
    return KeptDescriptor(TensorDescriptor(tensor, [tensor.numel()], [1], [block]))


def legal_strides(tensor: Tensor) -> list[int]:
    """The strides of a tensor that fits_tma as a descriptor takes them."""
    *outer, last = tensor.stride()
    # An axis of one element is never stepped along; any legal number will do.
    legal = [_ALIGNMENT if size == 1 else step for size, step in zip(tensor.shape[:-1], outer, strict=True)]
    return [*legal, last]


def on_device_of(tensor: Tensor) -> contextlib.AbstractContextManager[object]:
    """Makes a CUDA tensor's device the current one, where it is not."""
    if not tensor.is_cuda or tensor.get_device() == torch.cuda.current_device():
        return contextlib.nullcontext()
    return torch.cuda.device(tensor.device)
