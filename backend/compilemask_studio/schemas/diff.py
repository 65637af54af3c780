"""Two masks beside each other, and the cells in which they differ."""

from __future__ import annotations

from compilemask_studio.schemas.base import Body, Public
from compilemask_studio.schemas.masks import CompileRequest, CompileResult


class Cell(Public):
    q: int
    k: int


class DiffRequest(Body):
    left: CompileRequest
    right: CompileRequest


class CellDifference(Public):
    """Masks of unlike sizes are laid over each other at their first query and key; the larger lengths are q_len, kv_len.

    same: equal sizes and equal cells. removed: cells visible in the left mask only; added: in the right one only. first_*: the first such
    cell, row by row. levels: zoom levels of the tiles at `/api/diff/{left_hash}/{right_hash}/tiles`.
    """

    left_hash: str
    right_hash: str
    q_len: int
    kv_len: int
    levels: int
    same: bool
    same_size: bool
    common: int
    removed: int
    added: int
    first_removed: Cell | None
    first_added: Cell | None


class MaskDiff(Public):
    """cells: null when one of the texts gives no mask; its messages are in `left` and `right`."""

    left: CompileResult
    right: CompileResult
    cells: CellDifference | None
