"""The definition of each preset beyond the core, and the values at which the two are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import oracles_more as definitions
from oracles import Cells

_PARENTS: npt.NDArray[np.int64] = np.array([-1, 0, 0, 1, 3, 2, -1, 6, 4])

MORE: Mapping[str, tuple[Callable[..., Cells], Sequence[Mapping[str, Any]]]] = {
    "dilated_window": (
        definitions.dilated_window,
        [{"n": 13, "window": 5, "dilation": 3}, {"n": 129, "window": 300, "dilation": 7}],
    ),
    "bigbird": (
        definitions.bigbird,
        [
            {"size": 3, "random": [[0, 2, 4], [4, 4, 1], [0, 0, 0], [1, 1, 1], [2, 1, 0]]},
            {"size": 1, "random": [[0, 0, 0]]},
            {"size": 2, "random": [[], [3, 4, 5, 6], [0], [6, 1], [2], [], [3]]},
        ],
    ),
    "moba": (
        definitions.moba,
        [
            {
                "chunk": 3,
                "chosen": [[0, 1], [0, 0], [2, 1], [0, 3], [0, 1], [0, 0], [1, 0], [0, 0], [1, 1], [2, 0], [1, 2]],
            },
            {"chunk": 50, "chosen": [[0, 0]] * 7},
            {"chunk": 2, "chosen": [[], [0], [], [0], [1], [0, 1], [2], [], [0, 2, 3]]},
        ],
    ),
    "tile_topk": (
        definitions.tile_topk,
        [
            {"tiles": [3, 0, 5, 2], "chosen": np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 1, 0]], bool)},
            {"tiles": [127], "chosen": [[True]]},
        ],
    ),
    "vertical_slash": (
        definitions.vertical_slash,
        [
            {"n": 7, "vertical": [3, 0, 40], "slash": [0, 4, 6]},
            {"n": 9, "vertical": [], "slash": [0, 3, 6]},
            {"n": 130, "vertical": [129, 5, 5], "slash": []},
        ],
    ),
    "random_eviction": (
        definitions.random_eviction,
        [{"evicted_at": [9, 2, 3, 9, 5, 6, 8, 0, 9]}, {"evicted_at": [k + 1 for k in range(17)]}],
    ),
    "radial": (
        definitions.radial,
        [
            {"size": 5, "reach": [5, 3, 1, 0, 2]},
            {"size": 1, "reach": [0, 1, 0]},
            {"size": 4, "reach": [4, 2, 0], "text": 3},
        ],
    ),
    "svg_spatial": (
        definitions.svg_spatial,
        [{"prompt": 3, "frames": 3, "size": 5, "width": 4}, {"prompt": 0, "frames": 1, "size": 9, "width": 0}],
    ),
    "hstu_window": (
        definitions.hstu_window,
        [
            {"context": 3, "history": 17, "targets": 5, "look_back": 4},
            {"context": 3, "history": 17, "targets": 5, "look_back": 4, "full": 6},
            {"context": 0, "history": 17, "targets": 5, "look_back": 4, "full": 2},
            {"context": 2, "history": 9, "targets": 3, "look_back": 9},
            {"context": 2, "history": 9, "targets": 3, "look_back": 3, "free_targets": True},
            {"context": 1, "history": 0, "targets": 3, "look_back": 3},
            {"context": 4, "history": 6, "targets": 0},
        ],
    ),
    "hstu_groups": (
        definitions.hstu_groups,
        [{"context": 2, "history": 5, "groups": [3, 0, 1]}, {"context": 0, "history": 3, "groups": [1, 1, 1]}],
    ),
    "hstu_jagged": (
        definitions.hstu_jagged,
        [
            {"context": [1, 0, 3], "history": [4, 7, 0], "targets": [2, 1, 2]},
            {"context": [0], "history": [5], "targets": [0]},
        ],
    ),
    "hstu_delta": (
        definitions.hstu_delta,
        [
            {"context": 3, "history": 9, "new": 4, "targets": 2},
            {"context": 0, "history": 5, "new": 5, "targets": 3},
        ],
    ),
    "document_full": (definitions.document_full, [{"lengths": [3, 0, 4, 1], "padding": 2}, {"lengths": [129]}]),
    "document_sliding": (
        definitions.document_sliding,
        [{"lengths": [3, 0, 9, 1], "window": 4}, {"lengths": [129, 5], "window": 1}],
    ),
    "gappy_keys": (definitions.gappy_keys, [{"used": [3, 0, 4], "gaps": [2, 1, 0]}, {"used": [1], "gaps": [126]}]),
    "mask_ar": (definitions.mask_ar, [{"blocks": [3, 0, 1, 5], "padding": 2}, {"blocks": [1] * 9}]),
    "transfusion": (
        definitions.transfusion,
        [{"text": [3, 0, 2], "image": [4, 3, 0], "tail": 2}, {"text": [0], "image": [17]}],
    ),
    "rollout_tree": (
        definitions.rollout_tree,
        [
            {"lengths": [3, 2, 0, 4, 1, 2, 3, 1, 2], "parent": _PARENTS.tolist()},
            {"lengths": [1, 1, 1], "parent": [-1, -1, -1]},
        ],
    ),
    "tree_verify": (
        definitions.tree_verify,
        [{"prefix": 5, "parent": _PARENTS.tolist()}, {"prefix": 0, "parent": [-1, 0, 1, 2]}],
    ),
    "jetspec": (definitions.jetspec, [{"prompt": 5, "blocks": 3, "size": 3}, {"prompt": 0, "blocks": 1, "size": 7}]),
    "shared_prompts": (
        definitions.shared_prompts,
        [
            {"prompts": [3, 0, 2], "answers": [[2, 1], [3], []]},
            {"prompts": [4], "answers": [[1, 0, 1, 5]]},
        ],
    ),
    "natten_1d": (
        definitions.natten_1d,
        [
            {"n": 37, "kernel": 6, "dilation": 3, "stride": 2},
            {"n": 41, "kernel": 7, "stride": 3},
            {"n": 37, "kernel": 5, "dilation": 3, "stride": 2, "causal_window": True},
            {"n": 9, "kernel": 9, "causal_window": True},
        ],
    ),
    "natten_2d": (
        definitions.natten_2d,
        [
            {"height": 9, "width": 13, "kernel": [3, 4], "dilation": 2, "stride": 2},
            {"height": 7, "width": 11, "kernel": [7, 3]},
        ],
    ),
    "natten_3d": (
        definitions.natten_3d,
        [
            {"frames": 5, "height": 3, "width": 7, "kernel": [2, 2, 5], "dilation": 2},
            {"frames": 3, "height": 5, "width": 3, "kernel": [1, 3, 3]},
        ],
    ),
    "natten_tiled": (
        definitions.natten_tiled,
        [
            {"height": 9, "width": 11, "kernel": 5, "tile": [2, 4]},
            {"height": 7, "width": 7, "kernel": 3, "tile": [16, 3]},
        ],
    ),
    "sliding_tile": (
        definitions.sliding_tile,
        [
            {"tiles": [3, 4, 5], "size": 2, "kernel": [1, 3, 5], "text": 3},
            {"tiles": [3, 1, 3], "size": 3, "kernel": [3, 1, 3]},
            {"tiles": [4, 5, 3], "size": 2, "kernel": [2, 4, 2]},
        ],
    ),
    "zigzag_causal": (definitions.zigzag_causal, [{"n": 30, "ranks": 3}, {"n": 10, "ranks": 1}]),
    "zigzag_rank": (definitions.zigzag_rank, [{"n": 30, "ranks": 3, "rank": 2}, {"n": 30, "ranks": 5, "rank": 0}]),
    "local_cross": (
        definitions.local_cross,
        [
            {"q_len": 129, "kv_len": 32, "left": 32, "right": 64},
            {"q_len": 5, "kv_len": 9, "left": -1, "right": 2},
            {"q_len": 4, "kv_len": 9, "left": 2, "right": -1},
            {"q_len": 7, "kv_len": 3, "left": 0},
        ],
    ),
    "longformer_scattered": (
        definitions.longformer_scattered,
        [{"n": 17, "globals": [3, 16], "left": 2, "right": 0}, {"n": 9, "globals": [], "left": 1, "right": 3}],
    ),
    "sparse_fixed": (
        definitions.sparse_fixed,
        [{"n": 37, "stride": 8, "summary": 2}, {"n": 29, "stride": 7, "summary": 2, "place": 3}],
    ),
    "video_block_causal": (
        definitions.video_block_causal,
        [
            {"frames": 7, "size": 3, "chunk": 3, "window": 4, "padding": 2},
            {"frames": 5, "size": 2, "chunk": 4, "window": 1, "padding": 0},
            {"frames": 4, "size": 3, "chunk": 2},
        ],
    ),
    "paged_causal": (
        definitions.paged_causal,
        [
            {"n": 13, "slots": 24, "table": [3, 0, 5, 1], "size": 4},
            {"n": 7, "slots": 11, "table": [2, 0, 1], "size": 3},
        ],
    ),
}
"""For each preset its definition, and values besides those of its small example."""
