"""Two masks beside each other: their numbers, the cells in which they differ, and tiles that draw those."""

from __future__ import annotations

import numpy as np
from sqlmodel import Session

from compilemask.descriptor import MaskDescriptor
from compilemask.preview import density_tile, levels
from compilemask_studio.errors import StudioError
from compilemask_studio.schemas import Cell, CellDifference, DiffRequest, MaskDiff
from compilemask_studio.services.bounded_cache import BoundedCache
from compilemask_studio.services.compile_service import CompileService, has_tile
from compilemask_studio.services.mask_service import find_mask

COMMON, ADDED, REMOVED, BOTH = 0, 1, 2, 3
AMOUNTS = 64


class DiffService:
    """Remembers the parts of pairs of masks that were lately compared."""

    def __init__(self, compiler: CompileService) -> None:
        self._compiler = compiler
        self._parts: BoundedCache[tuple[str, str], tuple[MaskDescriptor, MaskDescriptor, MaskDescriptor]] = (
            BoundedCache(max_items=16, max_bytes=128_000_000)
        )
        self._tiles: BoundedCache[tuple[str, str, int, int, int], bytes] = BoundedCache(512, 32_000_000)

    def compare(self, request: DiffRequest) -> MaskDiff:
        """Both texts compiled as in the editor, and where their cells differ, when both give a mask."""
        left, right = self._compiler.compile(request.left), self._compiler.compile(request.right)
        cells = None
        if left.mask is not None and right.mask is not None:
            first, second = self._compiler.known(left.mask.hash), self._compiler.known(right.mask.hash)
            if first is None or second is None:
                raise StudioError(
                    404, "mask_unknown", "the server forgot one of the masks while comparing", "try again"
                )
            cells = self._difference(first, second)
        return MaskDiff(left=left, right=right, cells=cells)

    def tile(self, session: Session, left: str, right: str, z: int, y: int, x: int) -> bytes:
        """256 x 256 bytes, one a pixel: the kind of difference times 64 plus an amount from 0 to 63.

        Kinds: 0 no difference, the amount is the visible share; 1 added, 2 removed, 3 both, the amount is the share of
        the pixel's cells that differ. An amount is 0 only for none and 63 only for all.
        StudioError 404 outside of the pyramid, or for a mask that the server does not know.
        """
        key = (left, right, z, y, x)
        tile = self._tiles.get(key)
        if tile is None:
            parts = self._parts_of(find_mask(self._compiler, session, left), find_mask(self._compiler, session, right))
            _check_tile(parts[0], z, y, x)
            tile = difference_pixels(*(density_tile(part, z, y, x) for part in parts)).tobytes()
            self._tiles.put(key, tile, len(tile))
        return tile

    def _difference(self, left: MaskDescriptor, right: MaskDescriptor) -> CellDifference:
        common, removed, added = self._parts_of(left, right)
        same_size = (left.q_len, left.kv_len) == (right.q_len, right.kv_len)
        return CellDifference(
            left_hash=left.hash,
            right_hash=right.hash,
            q_len=common.q_len,
            kv_len=common.kv_len,
            levels=levels(common),
            same=left.hash == right.hash,
            same_size=same_size,
            common=common.visible_pairs,
            removed=removed.visible_pairs,
            added=added.visible_pairs,
            first_removed=_first_cell(removed),
            first_added=_first_cell(added),
        )

    def _parts_of(
        self, left: MaskDescriptor, right: MaskDescriptor
    ) -> tuple[MaskDescriptor, MaskDescriptor, MaskDescriptor]:
        """(cells of both, of the left one only, of the right one only), all of the larger lengths."""
        key = (left.hash, right.hash)
        parts = self._parts.get(key)
        if parts is None:
            size = (max(left.q_len, right.q_len), max(left.kv_len, right.kv_len))
            first, second = left.pad_to(*size), right.pad_to(*size)
            parts = (first & second, first - second, second - first)
            self._parts.put(key, parts, sum(part.nbytes for part in parts))
        return parts


def difference_pixels(
    common: np.ndarray[tuple[int, int], np.dtype[np.uint8]],
    removed: np.ndarray[tuple[int, int], np.dtype[np.uint8]],
    added: np.ndarray[tuple[int, int], np.dtype[np.uint8]],
) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """uint8 [rows, columns] of kind * 64 + amount, from the densities of the three parts, of the same shape."""
    kind = np.where(added > 0, np.where(removed > 0, BOTH, ADDED), np.where(removed > 0, REMOVED, COMMON))
    share = np.where(kind == COMMON, common, np.minimum(added.astype(np.int64) + removed, 255))
    amount = np.clip(1 + share * (AMOUNTS - 2) // 255, 1, AMOUNTS - 2)
    amount = np.where(share == 0, 0, np.where(share == 255, AMOUNTS - 1, amount))
    return (kind * AMOUNTS + amount).astype(np.uint8)


def _check_tile(part: MaskDescriptor, z: int, y: int, x: int) -> None:
    if not has_tile(part, z, y, x):
        raise StudioError(404, "tile_unknown", f"tile {z}/{y}/{x} is outside of the two masks")


def _first_cell(part: MaskDescriptor) -> Cell | None:
    if part.visible_pairs == 0:
        return None
    q = int(part.runs.piece_start[0])
    _, lo, _ = part.row_intervals(q, q + 1)
    return Cell(q=q, k=int(lo[0]))
