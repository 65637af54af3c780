"""The forward kernel's reading of its work list, in NumPy, step by step as the kernel does it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from compilemask.attention.hopper.schedule import Schedule
from compilemask.attention.hopper.work_list import ForwardWork, PackedWork

BoolArray = npt.NDArray[np.bool_]


def lane_words(work: ForwardWork | PackedWork, mask: int) -> npt.NDArray[np.int64]:
    """[block_m, 4]: softmax.load_words for all rows of a tile."""
    per_lane = work.block_n // 8
    lane = np.arange(4)
    if mask < 0:
        words = work.words[~mask].view(np.uint32).astype(np.int64)
        if words.shape[1] == 4:
            return words
        share = 4 // words.shape[1]
        return words[:, lane // share] >> (lane % share * 2 * per_lane)
    ends = work.intervals[mask].astype(np.int64)
    first, length = ends & 0xFFFF, ends >> 16
    begin = first[:, None] - 2 * lane + 7
    end = begin + length[:, None]
    even = (1 << (end >> 3)) - (1 << (begin >> 3))
    odd = (1 << ((end - 1) >> 3)) - (1 << ((begin - 1) >> 3))
    return even | (odd << per_lane)


def shown_by_words(words: npt.NDArray[np.int64], block_n: int) -> BoolArray:
    """bool [block_m, block_n]: softmax.hide."""
    per_lane = block_n // 8
    column = np.arange(block_n)
    bit = column // 8 + per_lane * (column % 2)
    return (words[:, column % 8 // 2] >> bit & 1).astype(bool)


def cells_shown(work: ForwardWork) -> npt.NDArray[np.int64]:
    """[q_len, kv_len]: how often the kernel counts each cell; raises AssertionError where it shows what does not exist."""
    rows, columns = work.num_q_tiles * work.block_m, work.kv_len + 2 * work.block_n
    shown = np.zeros((rows, columns), np.int64)
    for tile in range(work.num_q_tiles):
        own = shown[tile * work.block_m : (tile + 1) * work.block_m]
        assert work.tested_indptr[tile] < work.tested_indptr[tile + 1]
        for i in range(work.tested_indptr[tile], work.tested_indptr[tile + 1]):
            start = work.tested_start[i]
            own[:, start : start + work.block_n] += shown_by_words(lane_words(work, work.tested_mask[i]), work.block_n)
        visited = 0
        for r in range(work.full_indptr[tile], work.full_indptr[tile + 1]):
            for j in range(work.full_count[r]):
                start = work.full_start[r] + j * work.block_n
                own[:, start : start + work.block_n] += 1
                visited += 1
        assert visited == work.full_total[tile]
    # Rows that do not exist are written nowhere; keys that do not exist must count nowhere.
    assert not shown[: work.q_len, work.kv_len :].any()
    return shown[: work.q_len, : work.kv_len]


def items_in_order(schedule: Schedule) -> list[list[tuple[int, int, int]]]:
    """(q tile among those of all masks, query head, q tile of its mask) of each program."""
    return [
        [(int(listed), int(head), int(tile)) for listed, head, tile in schedule.items[begin:end]]
        for begin, end in zip(schedule.program_indptr[:-1], schedule.program_indptr[1:], strict=True)
    ]


def packed_cells_shown(work: PackedWork) -> npt.NDArray[np.int64]:
    """[q_len, kv_len]: how often the kernel counts each cell; raises AssertionError where it counts what does not exist."""
    shown = np.zeros((work.q_len + 1, work.kv_len + work.block_n + 1), np.int64)
    for tile in range(work.num_q_tiles):
        slots = work.row_index[tile * work.block_m : (tile + 1) * work.block_m]
        tested = work.tested_mask[work.tested_indptr[tile] : work.tested_indptr[tile + 1]]
        tiles = work.chunk_start[work.chunk_indptr[tile] : work.chunk_indptr[tile + 1]]
        assert len(tested) >= 1
        assert len(tiles) == len(tested) + work.full_total[tile]
        for number, starts in enumerate(tiles):
            keys = (starts[:, None] + np.arange(work.chunk)).reshape(-1)
            full = np.ones((work.block_m, work.block_n), bool)
            counted = shown_by_words(lane_words(work, tested[number]), work.block_n) if number < len(tested) else full
            # A row without query, -1, is computed and thrown away: the last row here.
            np.add.at(shown, (slots[:, None], keys[None]), counted)
    assert not shown[: work.q_len, work.kv_len :].any()
    return shown[: work.q_len, : work.kv_len]
