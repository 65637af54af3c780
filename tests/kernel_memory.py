"""A memory checker for Triton's interpreter: every address that a kernel reads or writes belongs to an element of an argument.

Arguments are moved into one arena with unused bytes between them, and a map says which bytes are elements of the tensors as
they were given: what lies beyond a tensor, or between the elements of a strided one, is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from triton.runtime import interpreter
from triton.tools.tensor_descriptor import TensorDescriptor

GAP = 1 << 16
_ALIGNMENT = 512
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Arena:
    """The arguments of one launch, moved apart."""

    def __init__(self, tensors: list[Tensor]) -> None:
        self._storages = {x.untyped_storage().data_ptr(): x.untyped_storage() for x in tensors}
        self._start: dict[int, int] = {}
        size = GAP
        for address, storage in self._storages.items():
            self._start[address] = size
            size += -(-storage.nbytes() // _ALIGNMENT) * _ALIGNMENT + GAP
        memory = torch.full((size + _ALIGNMENT,), 255, dtype=torch.uint8)
        self._memory = memory[-memory.data_ptr() % _ALIGNMENT :][:size]
        self._is_element = torch.zeros(size, dtype=torch.uint8)
        for address, storage in self._storages.items():
            self._part(self._memory, address).copy_(_bytes(storage))
        for x in tensors:
            self._view(self._is_element, x, _INTEGERS[x.element_size()]).fill_(255 if x.element_size() == 1 else -1)

    def moved(self, x: Tensor) -> Tensor:
        """The tensor's place in the arena."""
        return self._view(self._memory, x, x.dtype)

    def give_back(self) -> None:
        """Copy what kernels wrote to where the arguments are."""
        for address, storage in self._storages.items():
            _bytes(storage).copy_(self._part(self._memory, address))

    def check(self, what: str, addresses: Any, mask: Any, itemsize: int) -> None:
        """Raises AssertionError for an address, where the mask is set, that is no element of an argument."""
        addresses, mask = np.broadcast_arrays(np.asarray(addresses), np.asarray(mask))
        used = addresses[mask.astype(bool)].astype(np.int64) - self._memory.data_ptr()
        inside = (used >= 0) & (used <= len(self._memory) - itemsize)
        known = self._is_element.numpy()
        bad = ~inside | ~(known[np.where(inside, used, 0)] & known[np.where(inside, used + itemsize - 1, 0)]).astype(
            bool
        )
        assert not bad.any(), f"{what} of {bad.sum()} addresses that belong to no argument, of {bad.size}"

    def _part(self, memory: Tensor, address: int) -> Tensor:
        start = self._start[address]
        return memory[start : start + self._storages[address].nbytes()]

    def _view(self, memory: Tensor, x: Tensor, dtype: torch.dtype) -> Tensor:
        whole = self._part(memory, x.untyped_storage().data_ptr()).view(dtype)
        return whole.as_strided(x.shape, x.stride(), whole.storage_offset() + x.storage_offset())


def _bytes(storage: torch.UntypedStorage) -> Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(storage)


@contextmanager
def checked_memory() -> Iterator[list[str]]:
    """Kernels that the interpreter runs meanwhile are checked; yields the names of those that ran."""
    executor, builder = interpreter.GridExecutor, interpreter.InterpreterBuilder
    own = (executor._init_args_hst, executor._restore_args_dev, builder.create_masked_load, builder.create_masked_store)
    names: list[str] = []
    arenas: list[Arena] = []

    def move(self: Any, args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        names.append(self.fn.__name__)
        arenas.append(Arena([x for x in _tensors([*args, *kwargs.values()]) if x.numel()]))
        return [_moved(x, arenas[-1]) for x in args], {name: _moved(x, arenas[-1]) for name, x in kwargs.items()}

    def restore(_self: Any, *_arguments: Any) -> None:
        arenas.pop().give_back()

    def load(self: Any, ptrs: Any, mask: Any, *rest: Any, **more: Any) -> Any:
        arenas[-1].check(f"{names[-1]}: load", ptrs.data, mask.data, ptrs.get_element_ty().primitive_bitwidth // 8)
        return own[2](self, ptrs, mask, *rest, **more)

    def store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any, **more: Any) -> Any:
        arenas[-1].check(f"{names[-1]}: store", ptrs.data, mask.data, ptrs.get_element_ty().primitive_bitwidth // 8)
        return own[3](self, ptrs, value, mask, *rest, **more)

    executor._init_args_hst, executor._restore_args_dev = move, restore
    builder.create_masked_load, builder.create_masked_store = load, store
    try:
        yield names
    finally:
        executor._init_args_hst, executor._restore_args_dev = own[:2]
        builder.create_masked_load, builder.create_masked_store = own[2:]


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        match value:
            case Tensor():
                yield value
            case TensorDescriptor():
                yield value.base
            case tuple():
                yield from _tensors(value)


def _moved(value: Any, arena: Arena) -> Any:
    match value:
        case Tensor() if value.numel():
            return arena.moved(value)
        case TensorDescriptor():
            return TensorDescriptor(
                arena.moved(value.base), value.shape, value.strides, value.block_shape, value.padding
            )
        case tuple():
            return tuple(_moved(x, arena) for x in value)
        case _:
            return value
