"""A mask that lives on a device and can be given new numbers in place: for captured graphs, and for lengths that the host does not know."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, Protocol, SupportsIndex

import numpy as np
import torch
from torch import Tensor

from compilemask.arguments import as_index
from compilemask.attention.dense_mask import seen_keys
from compilemask.attention.device_plan import DeviceTiles, RowIntervals, Tiling, captured, plan_intervals
from compilemask.attention.length_masks import FAMILIES, Family, Visibility
from compilemask.attention.tile_masks import MIN_GAPS, tile_masks
from compilemask.descriptor import MaskDescriptor
from compilemask.descriptor.tokens import new_token, retire_token
from compilemask.geometry import Trapezoids
from compilemask.geometry.ragged import offsets
from compilemask.plan import plan_tiles

if TYPE_CHECKING:
    from compilemask.attention.triton.device_plan import Replan

Key = tuple[int, int, bool]
"""block_m, block_n, and whether the mask is transposed."""
_LENGTH_TYPES = (torch.int32, torch.int64)


class _Source(Protocol):
    """Where tiles come from; the tiles of one key always have the same capacity."""

    def tiles(self, key: Key, others: dict[Key, DeviceTiles]) -> DeviceTiles:
        """New ones; others: those that it made before and that `rewrite` will be given with them."""

    def rewrite(self, tiles: dict[Key, DeviceTiles]) -> None:
        """Make tiles that it made before what they are now: all of them, or none and an error."""

    def descriptor(self) -> MaskDescriptor: ...


class DeviceMask:
    """A mask of fixed lengths for `attention` with impl "triton" or "hopper"; its tiles keep their memory when the mask changes.

    A captured CUDA graph of attention under a DeviceMask computes, when it is replayed, under what the DeviceMask has become
    since. Made by `of`, from a descriptor, and updated by `update`; or by `from_lengths`, from length tensors, and
    updated by `replan` without a word from the device to the host. Attention must have been called once, forward and
    backward, before the capture. "hopper" takes those from lengths only. The other implementations take `descriptor()`.

    number: no other mask's, the same after an update. padded: whether there may be queries that see nothing or keys that nobody sees. A backward after an update that its
    forward did not see is refused.
    """

    def __init__(self, q_len: int, kv_len: int, device: torch.device, padded: bool, source: _Source) -> None:
        self.q_len, self.kv_len, self.device, self.padded = q_len, kv_len, device, padded
        self.token = new_token(self)
        self.number = int(self.token[1])
        self._source = source
        self._tiles: dict[Key, DeviceTiles] = {}

    @classmethod
    def of(
        cls, mask: MaskDescriptor, device: torch.device | str, *, room: float = 2.0, padded: bool = True
    ) -> DeviceMask:
        """A DeviceMask that is `mask` at first. room: how many times its tiles later masks may need.

        Raises ValueError when `padded` is False and the mask has queries that see nothing or keys that nobody sees.
        """
        if not isinstance(mask, MaskDescriptor):
            raise TypeError(f"DeviceMask.of takes a MaskDescriptor, got {type(mask).__name__}")
        if not room >= 1:
            raise ValueError(f"room must be at least 1, got {room}")
        _check_padding(mask, padded)
        source = _Planned(mask, _indexed(device), room, padded, {})
        return cls(mask.q_len, mask.kv_len, source.device, padded, source)

    @classmethod
    def from_lengths(cls, family: str, total: int, *, padded: bool = True, **lengths: Tensor) -> DeviceMask:
        """A mask of total x total tokens of a family, from int32 or int64 length tensors on one device.

        family and its lengths are those of the preset of that name: causal(length []), documents(lengths [n]),
        shared_prompt(prompt [], responses [n]), hstu_jagged(context, history, targets, each [users]). What the lengths leave of
        `total` is padding. Lengths of 0 are none, so n is an upper bound. They are copied. Wrong values fail on the device.
        """
        if family not in FAMILIES:
            raise ValueError(f"family must be one of {', '.join(map(repr, FAMILIES))}, got {family!r}")
        total = as_index(total, "total", "an integer from 0 on")
        if total < 0:
            raise ValueError(f"total must be an integer from 0 on, got {total}")
        kind = FAMILIES[family]
        _check_lengths(kind, lengths)
        with _updatable():
            own = {name: lengths[name].to(torch.int64, copy=True).contiguous() for name in kind.parameters}
            device = next(iter(own.values())).device
            seen = torch.zeros(total, dtype=torch.uint8, device=device) if padded else None
        kinds = {name: lengths[name].dtype for name in own}
        return cls(total, total, device, padded, _Measured(kind, total, own, seen, kinds))

    @property
    def from_numbers(self) -> bool:
        """Whether it was made from lengths, so that no host knows its tiles."""
        return isinstance(self._source, _Measured)

    def update(self, mask: MaskDescriptor) -> None:
        """Become `mask`, of the same lengths, in place. Planned on the host; all or nothing.

        Raises ValueError for other lengths and for masks that need more tiles than there is room for.
        """
        if not isinstance(self._source, _Planned):
            raise TypeError("this DeviceMask was made from lengths: give it new ones with replan")
        if not isinstance(mask, MaskDescriptor):
            raise TypeError(f"update takes a MaskDescriptor, got {type(mask).__name__}")
        if (mask.q_len, mask.kv_len) != (self.q_len, self.kv_len):
            raise ValueError(
                f"the DeviceMask is for q_len {self.q_len} and kv_len {self.kv_len}, got a mask of {mask.q_len} and "
                f"{mask.kv_len}; pad_to makes a shorter mask fit"
            )
        _check_padding(mask, self.padded)
        source = self._source.with_mask(mask)
        source.rewrite(self._tiles)
        self._source = source
        self._rename()

    def replan(self, **lengths: Tensor) -> None:
        """Take new lengths, of the same shapes, in place: device work only, which a CUDA graph can capture."""
        source = self._source
        if not isinstance(source, _Measured):
            raise TypeError("this DeviceMask was made from a descriptor: give it a new one with update")
        source.take(source.checked(lengths), self._tiles)
        self._rename()

    def tiles(self, block_m: int, block_n: int, *, transposed: bool = False) -> DeviceTiles:
        """The tiles under this tiling, of the transposed mask where asked for; made at the first call and then kept."""
        key = (block_m, block_n, transposed)
        if key not in self._tiles:
            if captured(self.device):
                raise RuntimeError(
                    "a CUDA graph is captured with a DeviceMask that attention has not met yet in this form: call "
                    "attention once, forward and backward, with tensors like these before the capture"
                )
            with _updatable():
                self._tiles[key] = self._source.tiles(key, self._tiles)
        return self._tiles[key]

    def descriptor(self) -> MaskDescriptor:
        """The mask as it is now. Made from lengths it is read back from the device."""
        return self._source.descriptor()

    def __repr__(self) -> str:
        return f"DeviceMask({self.q_len} x {self.kv_len} on {self.device}, {len(self._tiles)} tilings)"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raises TypeError, also for copy.copy: a copy would write to the tiles of this one."""
        raise TypeError("a DeviceMask is not copied or pickled: make another one, from descriptor() or from lengths")

    def _rename(self) -> None:
        # what was computed before has its backward under the mask of then, which is no more
        retire_token(self.token)
        self.token = new_token(self)


@dataclass(frozen=True, slots=True, eq=False)
class _Planned:
    """Tiles planned on the host. capacity: of each key's lists, fixed when it is first asked for."""

    mask: MaskDescriptor
    device: torch.device
    room: float
    padded: bool
    capacity: dict[Key, dict[str, int]]

    def with_mask(self, mask: MaskDescriptor) -> _Planned:
        return _Planned(mask, self.device, self.room, self.padded, self.capacity)

    def descriptor(self) -> MaskDescriptor:
        return self.mask

    def tiles(self, key: Key, others: dict[Key, DeviceTiles]) -> DeviceTiles:  # noqa: ARG002
        block_m, block_n, transposed = key
        mask = self.mask.transpose() if transposed else self.mask
        plan = plan_tiles(mask, block_m, block_n)
        masks = tile_masks(plan)
        arrays = {name: getattr(plan, name) for name in ("tile_order", "full_indptr", "full_start", "full_count")}
        arrays["full_total"] = np.diff(offsets(plan.full_count)[plan.full_indptr]).astype(np.int32)
        arrays |= {name: getattr(masks, name) for name in masks.__slots__}
        needed = {name: len(array) for name, array in arrays.items()}
        if key not in self.capacity:
            fixed = {"tile_order", "full_indptr", "full_total", "interval_indptr", "gap_indptr"}
            self.capacity[key] = {
                name: count if name in fixed else math.ceil(self.room * (count + plan.num_q_tiles + 1))
                for name, count in needed.items()
            }
        tensors = {
            name: self._padded(name, array, self.capacity[key][name]).to(self.device) for name, array in arrays.items()
        }
        seen = torch.from_numpy(seen_keys(mask).astype(np.uint8)).to(self.device) if self.padded else None
        # More gaps than any unrolled number: the kernel counts them.
        tiling = Tiling(mask.q_len, mask.kv_len, block_m, block_n)
        return DeviceTiles(tiling, self.device, MIN_GAPS + 1, seen=seen, **tensors)  # type: ignore[arg-type]

    def rewrite(self, tiles: dict[Key, DeviceTiles]) -> None:
        fresh = {key: self.tiles(key, tiles) for key in tiles}
        for key, own in tiles.items():
            own.write(fresh[key])

    def _padded(self, name: str, array: np.ndarray[tuple[int, ...], np.dtype[np.int32]], capacity: int) -> Tensor:
        if len(array) > capacity:
            raise ValueError(
                f"the mask needs {len(array)} entries of {name}, the DeviceMask has room for {capacity}; make it with more "
                f"room than {self.room:g}, or from a mask that needs more"
            )
        padded = np.zeros((capacity, *array.shape[1:]), np.int32)
        padded[: len(array)] = array
        return torch.from_numpy(padded)


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """Tiles planned on the device of the lengths, int64 tensors by name, in the family's order.

    seen: uint8 [total], which tokens the lengths leave no padding; each of them is seen as a key, and sees as a query. None
    where there must be no padding. kinds: the types in which lengths came last. replans: what rewrites all tiles on a GPU, the
    last for those of now; captured graphs read the others.
    """

    family: Family
    total: int
    lengths: dict[str, Tensor]
    seen: Tensor | None
    kinds: dict[str, torch.dtype]
    replans: list[Replan] = field(default_factory=list)

    def checked(self, lengths: dict[str, Tensor]) -> list[Tensor]:
        """New lengths in the family's order, contiguous. Raises TypeError or ValueError for those that do not fit."""
        found = []
        for name, own in self.lengths.items():
            new = lengths.get(name)
            if (
                type(new) is not Tensor or new.dtype not in _LENGTH_TYPES or new.shape != own.shape
                or new.device != own.device or not new.is_contiguous()
            ):  # fmt: skip
                break
            found.append(new)
        if len(found) == len(lengths) == len(self.lengths):
            return found
        _check_lengths(self.family, lengths)
        for name, own in self.lengths.items():
            if lengths[name].shape != own.shape or lengths[name].device != own.device:
                raise ValueError(
                    f"{name} must have shape {tuple(own.shape)} on {own.device}, got {tuple(lengths[name].shape)} on "
                    f"{lengths[name].device}; lengths of 0 fill a list up"
                )
        return [lengths[name].contiguous() for name in self.lengths]

    def take(self, lengths: list[Tensor], tiles: dict[Key, DeviceTiles]) -> None:
        """Lengths from `checked` for all tiles that it made."""
        if self.replans:
            self.replans[-1](lengths)
            return
        before = [own.clone() for own in self.lengths.values()]
        self._keep(lengths)
        try:
            self.rewrite(tiles)
        except RuntimeError:
            # On the CPU wrong lengths fail at once: the mask stays what it was.
            self._keep(before)
            raise
        self.kinds.update({name: new.dtype for name, new in zip(self.lengths, lengths, strict=True)})

    def _keep(self, lengths: list[Tensor]) -> None:
        for own, new in zip(self.lengths.values(), lengths, strict=True):
            own.copy_(new)

    def visibility(self) -> Visibility:
        return self.family.visibility(self.total, *self.lengths.values())

    def descriptor(self) -> MaskDescriptor:
        rows = self.visibility().queries
        lo, hi = rows.lo.flatten().cpu().numpy(), rows.hi.flatten().cpu().numpy()
        row = np.tile(np.arange(self.total), len(rows.lo))
        some = lo < hi
        return MaskDescriptor.from_trapezoids(
            self.total, self.total, Trapezoids.of(row[some], row[some] + 1, 0, lo[some], 0, hi[some])
        )

    def tiles(self, key: Key, others: dict[Key, DeviceTiles]) -> DeviceTiles:
        made = self._planned(key, self._rows())
        if made.device.type == "cuda":
            from compilemask.attention.triton.device_plan import Replan

            of_each: dict[bool, list[DeviceTiles]] = {False: [], True: []}
            for (_, _, transposed), one in (*others.items(), (key, made)):
                of_each[transposed].append(one)
            replan = Replan(self.family.name, self.total, self.lengths, self.seen, of_each)
            # Compiles the kernels, for lengths like those that came, which is not to be left to a capture.
            replan([own.to(self.kinds[name]) for name, own in self.lengths.items()])
            self.replans.append(replan)
        return made

    def rewrite(self, tiles: dict[Key, DeviceTiles]) -> None:
        rows = self._rows() if tiles else {}
        for key, own in tiles.items():
            own.write(self._planned(key, rows))

    def _planned(self, key: Key, rows: dict[bool, RowIntervals]) -> DeviceTiles:
        block_m, block_n, transposed = key
        return plan_intervals(rows[transposed], self.total, block_m, block_n, self.seen, tested=not transposed)

    def _rows(self) -> dict[bool, RowIntervals]:
        """Of the mask and of it transposed; `seen` is written."""
        found = self.visibility()
        seen = (found.keys.lo < found.keys.hi).any(0)
        if self.seen is None:
            torch._assert_async(seen.all(), "lengths leave padding, and the DeviceMask was made with padded=False")
        else:
            self.seen.copy_(seen)
        return {False: found.queries, True: found.keys}


def _updatable() -> contextlib.AbstractContextManager[object]:
    """Tensors that are made in it can be written to later in any mode; those of inference mode only there."""
    return torch.inference_mode(False)


def _indexed(device: torch.device | str) -> torch.device:
    """The device as tensors on it name it: "cuda" is the current one of them."""
    return torch.empty(0, device=device).device


def _check_padding(mask: MaskDescriptor, padded: bool) -> None:
    if not padded and (mask.empty_rows or mask.unseen_keys):
        raise ValueError(
            f"a DeviceMask with padded=False takes masks without padding, this one has {mask.empty_rows} queries that see "
            f"nothing and {mask.unseen_keys} keys that nobody sees"
        )


def _check_lengths(family: Family, lengths: dict[str, Tensor]) -> None:
    wanted = ", ".join(family.parameters)
    if set(lengths) != set(family.parameters):
        raise TypeError(f"{family.name} takes the lengths {wanted}, got {', '.join(lengths) or 'none'}")
    first = lengths[family.parameters[0]]
    for name in family.parameters:
        value = lengths[name]
        ndim = 0 if name in family.scalars else 1
        if not isinstance(value, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor of lengths, got {type(value).__name__}")
        if value.dtype not in _LENGTH_TYPES or value.ndim != ndim:
            raise ValueError(
                f"{name} must be an int32 or int64 tensor of {ndim} dimensions, got {value.dtype} of shape {tuple(value.shape)}"
            )
        if value.device != first.device:
            raise ValueError(f"all lengths must be on one device, got {first.device} and {value.device}")
        if family.name == "hstu_jagged" and value.shape != first.shape:
            raise ValueError(
                f"context, history and targets must have one length, got {tuple(first.shape)} and {name} of {tuple(value.shape)}"
            )
