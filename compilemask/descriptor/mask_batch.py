"""Masks of a batch: one for each item and head, equal ones stored once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from compilemask.arguments import as_index, show
from compilemask.descriptor import serial
from compilemask.descriptor.mask_descriptor import MaskDescriptor
from compilemask.descriptor.tokens import new_token
from compilemask.geometry.ragged import IntArray

FORMAT = "compilemask.batch"
VERSION = 2
HASH_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class MaskBatch:
    """Which of q_len x kv_len cells are visible in each batch item and query head; immutable, equal and hashed by content.

    masks: the distinct masks, all of q_len x kv_len, in the order of their first use.
    index: int64 [num_items, num_heads]: item b sees under masks[index[b, h]] in head h. A size of 1 stands for all
    items or all heads. Refuses, at birth, anything else (ValueError); `MaskBatch.of` makes both from a table of masks.
    Items that are shorter have queries that see nothing and keys that nobody sees at the end.
    token: as a MaskDescriptor's.
    """

    q_len: int
    kv_len: int
    masks: tuple[MaskDescriptor, ...]
    index: IntArray
    token: IntArray = field(init=False)

    def __post_init__(self) -> None:
        for name in ("q_len", "kv_len"):
            object.__setattr__(self, name, as_index(getattr(self, name), name))
        for number, mask in enumerate(self.masks):
            if (mask.q_len, mask.kv_len) != (self.q_len, self.kv_len):
                raise ValueError(
                    f"all masks of a batch must be {self.q_len} x {self.kv_len}, mask {number} is {mask.q_len} x {mask.kv_len}"
                )
        index = np.array(self.index)
        if index.ndim != 2 or index.dtype.kind not in "iu" or index.size == 0:
            raise ValueError(f"index must be integers [num_items, num_heads], 1 or more of each, got {_shape(index)}")
        index = np.ascontiguousarray(index, np.int64)
        index.flags.writeable = False
        object.__setattr__(self, "index", index)
        used, first = np.unique(index, return_index=True)
        if not np.array_equal(used[np.argsort(first)], np.arange(len(self.masks))):
            raise ValueError(
                f"index must name the {len(self.masks)} masks in the order of their first use, from 0, and no others"
            )
        if len({mask.hash for mask in self.masks}) != len(self.masks):
            raise ValueError("two masks of a batch are equal; equal masks are stored once")
        object.__setattr__(self, "token", new_token(self))

    def __reduce__(self) -> tuple[object, ...]:
        return MaskBatch, (self.q_len, self.kv_len, self.masks, self.index)

    @classmethod
    def of(cls, table: Sequence[Sequence[MaskDescriptor]]) -> MaskBatch:
        """The batch whose item b sees under table[b][h] in head h. A row or a table of length 1 stands for all.

        Masks of different lengths are embedded, with `pad_to`, in the greatest q_len and kv_len.
        """
        _check_table(table)
        widths = {len(row) for row in table}
        if len(widths) != 1 or 0 in widths:
            raise ValueError(
                "a batch is a table of masks, one row for each item with one mask for each head; "
                f"got {len(table)} rows of {', '.join(map(str, sorted(widths))) or 'no'} masks"
            )
        cells = [mask for row in table for mask in row]
        for mask in cells:
            if not isinstance(mask, MaskDescriptor):
                raise TypeError(f"a batch is made of MaskDescriptors, got {type(mask).__name__}")
        q_len, kv_len = max(mask.q_len for mask in cells), max(mask.kv_len for mask in cells)
        numbers: dict[MaskDescriptor, int] = {}
        padded: dict[int, int] = {}
        index = []
        for mask in cells:
            # the same object is padded once: a batch of many items seldom has as many masks
            if id(mask) not in padded:
                padded[id(mask)] = numbers.setdefault(mask.pad_to(q_len, kv_len), len(numbers))
            index.append(padded[id(mask)])
        return cls(q_len, kv_len, tuple(numbers), np.array(index, np.int64).reshape(len(table), -1))

    # ------------------------------------------------------------ its masks

    def mask(self, item: int, head: int) -> MaskDescriptor:
        """The mask of one item and head; where one stands for all of them, any number from 0 on names it."""
        return self.masks[int(self.index[self._place("item", item), self._place("head", head)])]

    def item(self, item: int) -> MaskBatch:
        """The masks of one item, as a batch that has only this one."""
        place = self._place("item", item)
        return self._part(self.index[place : place + 1])

    def head(self, head: int) -> MaskBatch:
        """The masks of one head, as a batch that has only this one."""
        place = self._place("head", head)
        return self._part(self.index[:, place : place + 1])

    def _place(self, axis: str, number: int) -> int:
        size = self.num_items if axis == "item" else self.num_heads
        wanted = "an integer from 0 on"
        number = as_index(number, f"the {axis}", wanted)
        if number < 0:
            raise ValueError(f"the {axis} must be {wanted}, got {show(number)}")
        if size == 1:
            return 0
        if number >= size:
            raise ValueError(f"the {axis} must lie in [0, {size}), got {show(number)}")
        return number

    def _part(self, index: IntArray) -> MaskBatch:
        table = [[self.masks[number] for number in row] for row in index]
        return MaskBatch.of(table)

    # ------------------------------------------------------------ statistics, all exact

    @property
    def num_items(self) -> int:
        """Items; 1 also when all items have the same masks."""
        return int(self.index.shape[0])

    @property
    def num_heads(self) -> int:
        """Heads; 1 also when all heads have the same masks."""
        return int(self.index.shape[1])

    @cached_property
    def visible_pairs(self) -> int:
        """Visible cells, summed over index: all items and heads."""
        uses = np.bincount(self.index.ravel(), minlength=len(self.masks)).tolist()
        return sum(mask.visible_pairs * count for mask, count in zip(self.masks, uses, strict=True))

    @property
    def density(self) -> float:
        """Visible share of the cells of all items and heads, padding included; 0.0 when there is no cell."""
        cells = self.q_len * self.kv_len * self.index.size
        return self.visible_pairs / cells if cells else 0.0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in memory: of the distinct masks and of the index."""
        return sum(mask.nbytes for mask in self.masks) + self.index.nbytes

    # ------------------------------------------------------------ identity

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the lengths, the index and the masks' hashes, in hex: the same for equal batches on every machine."""
        start = f"{FORMAT} {HASH_VERSION} {self.q_len} {self.kv_len} {self.num_items} {self.num_heads} "
        digest = hashlib.sha256(start.encode())
        digest.update(self.index.astype("<i8").tobytes())
        for mask in self.masks:
            digest.update(mask.hash.encode())
        return digest.hexdigest()

    def __hash__(self) -> int:
        return hash(self.hash)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MaskBatch):
            return NotImplemented
        same_sizes = (self.q_len, self.kv_len) == (other.q_len, other.kv_len)
        return same_sizes and np.array_equal(self.index, other.index) and self.masks == other.masks

    def __repr__(self) -> str:
        return (
            f"MaskBatch({self.num_items} items x {self.num_heads} heads, {len(self.masks)} masks of "
            f"{self.q_len} x {self.kv_len}, hash {self.hash[:12]})"
        )

    def to_json(self) -> str:
        """Versioned JSON in one line of ASCII; equal batches give equal text. ValueError for more than serial.MAX_RUNS runs."""
        serial.check_total(sum(mask.num_runs for mask in self.masks))
        value = {
            "format": FORMAT,
            "version": VERSION,
            "q_len": self.q_len,
            "kv_len": self.kv_len,
            "masks": [serial.rows_of(mask.families()) for mask in self.masks],
            "index": self.index.tolist(),
        }
        return json.dumps(value, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> MaskBatch:
        """Reads `to_json` of this version and of older ones; ValueError, saying what is wrong, for any other text."""
        keys = dict.fromkeys(range(1, VERSION + 1), ("q_len", "kv_len", "masks", "index"))
        version, value = serial.read_object(text, FORMAT, keys, "a batch")
        q_len, kv_len = serial.read_length(value, "q_len"), serial.read_length(value, "kv_len")
        written = value["masks"]
        if not isinstance(written, list):
            raise ValueError(f'"masks" must be a list, got {serial.kind(written)}')
        masks = [serial.read_families(rows, f"mask {number}", version) for number, rows in enumerate(written)]
        index = _read_index(value["index"], len(masks))
        serial.check_total(sum(families.num_runs for families in masks))
        read = []
        for families in masks:
            shapes = families.unfold()
            read.append(MaskDescriptor.from_trapezoids(q_len, kv_len, shapes))
            serial.check_cells(shapes, read[-1].visible_pairs)
        return cls(q_len, kv_len, tuple(read), index)


def _check_table(table: object) -> None:
    wanted = "a batch is a table of masks, such as [[mask] for mask in masks]"
    if not isinstance(table, Sequence):
        raise TypeError(f"{wanted}, got {show(table)}")
    for number, row in enumerate(table):
        if not isinstance(row, Sequence):
            raise TypeError(f"{wanted}, got {show(row)} as row {number}")


def _read_index(rows: object, num_masks: int) -> IntArray:
    if not isinstance(rows, list):
        raise ValueError(f'"index" must be a list, got {serial.kind(rows)}')
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(rows[0]):
            raise ValueError(f"row {number} of the index must be a list as long as row 0, got {serial.show(row)}")
        for entry in row:
            if not serial.is_int(entry) or not 0 <= entry < num_masks:
                raise ValueError(f"the index must hold integers in [0, {num_masks}), got {serial.show(entry)}")
    return np.array(rows, np.int64).reshape(len(rows), len(rows[0]) if rows else 0)


def _shape(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    return f"{array.dtype} {list(array.shape)}"
