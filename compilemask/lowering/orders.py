"""The orders that a text names, with their numbers: checked, and written out for every instance of a region."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compilemask.geometry.ragged import IntArray
from compilemask.lowering.binding import Binding
from compilemask.lowering.failure import BindError
from compilemask.lowering.storage import pages_order, tiles_order, zigzag_order
from compilemask.semantics.program import Region, Stored


def tokens_stored(
    region: Region, stored: Stored, slots: IntArray, sizes: Sequence[IntArray], binding: Binding
) -> IntArray:
    """How many tokens each instance holds: as many as it has slots, but for pages, of which some may be free."""
    if stored.table is None:
        return slots
    pages, size = binding.array(stored.table), int(sizes[0][0]) if len(slots) else 1
    _check_positive(region, stored, sizes)
    for number in slots.tolist():
        _check_pages(stored, pages, size, number)
    return np.full(len(slots), len(pages) * size, np.int64)


def instance_orders(
    region: Region, stored: Stored, extents: Sequence[IntArray], sizes: Sequence[IntArray], binding: Binding
) -> list[IntArray]:
    """The order of each instance: for each slot the place of the token that is stored in it."""
    _check_positive(region, stored, sizes)
    orders = []
    known: dict[tuple[int, ...], IntArray] = {}
    for instance in range(len(extents[0])):
        extent = tuple(int(values[instance]) for values in extents)
        size = tuple(int(values[instance]) for values in sizes)
        if (*extent, *size) not in known:
            known[(*extent, *size)] = _order(stored, extent, size, binding)
        orders.append(known[(*extent, *size)])
    return orders


def _order(stored: Stored, extent: tuple[int, ...], size: tuple[int, ...], binding: Binding) -> IntArray:
    match stored.order:
        case "tiles":
            return tiles_order(extent, size)
        case "zigzag":
            chunks = 2 * size[0]
            if extent[0] % chunks:
                least = extent[0] // chunks * chunks
                raise BindError(
                    "CM423",
                    f"{extent[0]:,} tokens cannot be cut into {chunks:,} equal chunks, two for each rank",
                    stored.span,
                    f"bind a multiple of {chunks:,}, such as {least or chunks:,} or {least + chunks if least else 2 * chunks:,}; "
                    "of padding behind the last token, a condition such as `k < used` says that nobody sees it",
                )
            return zigzag_order(extent[0], size[0])
        case "pages":
            assert stored.table is not None, "pages have a table"
            return pages_order(extent[0], binding.array(stored.table), size[0])


def _check_positive(region: Region, stored: Stored, sizes: Sequence[IntArray]) -> None:
    for values in sizes:
        if len(values) and int(values.min()) < 1:
            what = {"tiles": "a side of a tile", "zigzag": "the number of ranks", "pages": "the size of a page"}
            message = f"{what[stored.order]} of `{region.name}` is {int(values.min())}"
            raise BindError("CM423", message, stored.span, "bind 1 or more")


def _check_pages(stored: Stored, pages: IntArray, size: int, slots: int) -> None:
    count = slots // size
    wrong = np.flatnonzero((pages < 0) | (pages >= count))
    if len(wrong):
        number = int(wrong[0])
        raise BindError(
            "CM423",
            f"`{stored.table}[{number}]` is page {int(pages[number]):,}, but {slots:,} slots have {count:,} pages of {size:,}",
            stored.span,
            "pages are numbered from 0; bind more slots or other pages",
        )
    _, first, times = np.unique(pages, return_index=True, return_counts=True)
    if len(pages) and int(times.max()) > 1:
        page = int(pages[first[int(np.argmax(times > 1))]])
        message = f"page {page:,} stands in `{stored.table}` {int(times.max())} times"
        raise BindError("CM423", message, stored.span, "a page holds the tokens of one place")
