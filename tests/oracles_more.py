"""Which cells the presets beyond the core see, written from the published definitions as NumPy predicates.

Independent of the language: every function takes the values of a preset and returns bool[q_len, kv_len].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles import Cells, Ints, _grid, _numbered

Table = Sequence[Sequence[int]]


def dilated_window(n: int, window: int, dilation: int) -> Cells:
    q, k = _grid(n, n)
    return (np.abs(q - k) <= window) & (np.abs(q - k) % dilation == 0)


def bigbird(size: int, random: Table) -> Cells:
    """By blocks: an end block on either side, neighbours, and drawn blocks."""
    count = len(random)
    blocks = np.eye(count, dtype=bool) | np.eye(count, k=1, dtype=bool) | np.eye(count, k=-1, dtype=bool)
    for ends in (0, -1):
        blocks[ends, :] = blocks[:, ends] = True
    for row, drawn in enumerate(random):
        blocks[row, list(drawn)] = True
    return np.kron(blocks, np.ones((size, size), bool))


def moba(chunk: int, chosen: Table) -> Cells:
    n = len(chosen)
    q, k = _grid(n, n)
    picked = np.zeros((n, n), bool)
    for row, chunks in enumerate(chosen):
        for number in (row // chunk, *chunks):
            picked[row, number * chunk : (number + 1) * chunk] = True
    return picked & (k <= q)


def tile_topk(tiles: Sequence[int], chosen: Table) -> Cells:
    tile = _numbered(tiles)
    return np.array(chosen, bool).reshape(len(tiles), len(tiles))[tile[:, None], tile[None, :]]


def vertical_slash(n: int, vertical: Sequence[int], slash: Sequence[int]) -> Cells:
    cells = np.zeros((n, n), bool)
    cells[:, [line for line in vertical if 0 <= line < n]] = True
    for distance in slash:
        cells |= np.eye(n, k=-distance, dtype=bool)
    return np.tril(cells)


def random_eviction(evicted_at: Sequence[int]) -> Cells:
    n = len(evicted_at)
    cells = np.zeros((n, n), bool)
    for key, end in enumerate(evicted_at):
        cells[key:end, key] = True
    return cells


def radial(size: int, reach: Sequence[int], text: int = 0) -> Cells:
    video = size * len(reach)
    q, k = _grid(video, video)
    limit = np.array([*reach, 0])[np.abs(q // size - k // size)]
    cells = np.ones((video + text, video + text), bool)
    cells[:video, :video] = (k < size) | (np.abs(q % size - k % size) < limit)
    return cells


def svg_spatial(prompt: int, frames: int, size: int, width: int) -> Cells:
    q, k = _grid(prompt + frames * size, prompt + frames * size)
    return (q < prompt) | (k < prompt) | ((k - q < width) & (q - k < width))


def hstu_window(
    context: int, history: int, targets: int, look_back: int = 0, full: int = 0, free_targets: bool = False
) -> Cells:
    """The reference of generative-recommenders, by ranks; free_targets is the other dialect."""
    n = context + history + targets
    last = n - targets - max(context - 1, 0)
    place = np.arange(n)
    rank = np.minimum(np.maximum(place - context + 1, 0) if context else place, last)
    steps = rank[:, None] - rank[None, :]
    seen = np.eye(n, dtype=bool) | (steps > 0)
    if look_back:
        near = steps <= look_back
        if full or free_targets:
            near |= rank[:, None] >= last - full
        seen &= near
    if context:
        seen |= (rank[:, None] == 0) & (rank[None, :] < last)
    return seen


def hstu_groups(context: int, history: int, groups: Sequence[int]) -> Cells:
    users = context + history
    group = np.concatenate([np.full(users, -1), _numbered(groups)])
    q, k = _grid(len(group), len(group))
    both = (q < context) & (k < users)
    return both | ((k <= q) & ((k < users) | (group[:, None] == group[None, :])))


def hstu_jagged(context: Sequence[int], history: Sequence[int], targets: Sequence[int]) -> Cells:
    sizes = [sum(three) for three in zip(context, history, targets, strict=True)]
    cells = np.zeros((sum(sizes), sum(sizes)), bool)
    start = 0
    for size, c, h, t in zip(sizes, context, history, targets, strict=True):
        cells[start : start + size, start : start + size] = hstu_window(c, h, t)
        start += size
    return cells


def hstu_delta(context: int, history: int, new: int, targets: int) -> Cells:
    return hstu_window(context, history, targets)[context + history - new :]


def document_full(lengths: Sequence[int], padding: int = 0) -> Cells:
    document = np.concatenate([_numbered(lengths), -1 - np.arange(padding)])
    same = document[:, None] == document[None, :]
    return same & (document[:, None] >= 0)


def document_sliding(lengths: Sequence[int], window: int) -> Cells:
    document = _numbered(lengths)
    q, k = _grid(len(document), len(document))
    return (document[:, None] == document[None, :]) & (k > q - window) & (k <= q)


def gappy_keys(used: Sequence[int], gaps: Sequence[int]) -> Cells:
    rooms = [a + b for a, b in zip(used, gaps, strict=True)]
    cells = np.zeros((len(used), sum(rooms)), bool)
    for request, count in enumerate(used):
        start = sum(rooms[:request])
        cells[request, start : start + count] = True
    return cells


def mask_ar(blocks: Sequence[int], padding: int = 0) -> Cells:
    """As PaliGemma: the cumulative sum of the marks, and both tokens real."""
    marks = np.zeros(sum(blocks) + padding, int)
    marks[np.cumsum([0, *blocks])[:-1][np.array(blocks) > 0]] = 1
    group = np.cumsum(marks)
    real = np.arange(len(marks)) < sum(blocks)
    return (group[None, :] <= group[:, None]) & real[:, None] & real[None, :]


def transfusion(text: Sequence[int], image: Sequence[int], tail: int = 0) -> Cells:
    """Causal, or for some picture the query is not before it and the key is not behind it."""
    n = sum(text) + sum(image) + tail
    q, k = _grid(n, n)
    cells = k <= q
    start = 0
    for words, patches in zip(text, image, strict=True):
        start += words
        cells |= (q >= start) & (k < start + patches) if patches else False
        start += patches
    return cells


def _above(parent: Sequence[int], node: int) -> set[int]:
    found = set()
    while parent[node] >= 0:
        node = parent[node]
        found.add(node)
    return found


def rollout_tree(lengths: Sequence[int], parent: Sequence[int]) -> Cells:
    segment = _numbered(lengths)
    q, k = _grid(len(segment), len(segment))
    above = np.zeros((len(parent), len(parent)), bool)
    for node in range(len(parent)):
        above[node, list(_above(parent, node))] = True
    return above[segment[:, None], segment[None, :]] | ((segment[:, None] == segment[None, :]) & (k <= q))


def tree_verify(prefix: int, parent: Sequence[int]) -> Cells:
    cells = np.zeros((len(parent), prefix + len(parent)), bool)
    cells[:, :prefix] = True
    for node in range(len(parent)):
        for other in (node, *_above(parent, node)):
            cells[node, prefix + other] = True
    return cells


def jetspec(prompt: int, blocks: int, size: int) -> Cells:
    q, k = _grid(blocks * size, prompt + blocks * size)
    return (k < prompt) | ((q // size == (k - prompt) // size) & (k - prompt <= q))


def shared_prompts(prompts: Sequence[int], answers: Table) -> Cells:
    group, part = [], []
    for number, (prompt, own) in enumerate(zip(prompts, answers, strict=True)):
        group += [number] * (prompt + sum(own))
        part += [0] * prompt + [n + 1 for n, length in enumerate(own) for _ in range(length)]
    g, p = np.array(group, int), np.array(part, int)
    q, k = _grid(len(g), len(g))
    visible = (p[None, :] == 0) | (p[None, :] == p[:, None])
    return (g[:, None] == g[None, :]) & visible & (k <= q)


def _window(length: int, kernel: int, dilation: int = 1, stride: int = 1, causal: bool = False) -> Cells:
    """One axis of NATTEN: cells[place, key place], inside lines of equal remainders."""
    cells = np.zeros((length, length), bool)
    for rest in range(min(dilation, length)):
        line = np.arange(rest, length, dilation)
        n = len(line)
        for place in range(n):
            if causal:
                leader = min(place // stride * stride + stride - 1, n - 1)
                keys = [key for key in range(n) if place - key >= 0 and leader - key < kernel]
            else:
                leader = min(place // stride * stride + stride // 2, n - 1)
                centre = int(np.clip(leader, kernel // 2, n - 1 - (kernel - 1 - kernel // 2)))
                keys = [key for key in range(n) if -(kernel // 2) <= key - centre <= kernel - 1 - kernel // 2]
            cells[line[place], line[keys]] = True
    return cells


def natten_1d(n: int, kernel: int, dilation: int = 1, stride: int = 1, causal_window: bool = False) -> Cells:
    return _window(n, kernel, dilation, stride, causal_window)


def natten_2d(height: int, width: int, kernel: Sequence[int], dilation: int = 1, stride: int = 1) -> Cells:
    rows, columns = _window(height, kernel[0], dilation, stride), _window(width, kernel[1], dilation, stride)
    return np.kron(rows, columns)


def natten_3d(frames: int, height: int, width: int, kernel: Sequence[int], dilation: int = 1) -> Cells:
    layers = _window(frames, kernel[0], dilation, causal=True)
    return np.kron(layers, np.kron(_window(height, kernel[1]), _window(width, kernel[2])))


def _tile_after_tile(extents: Sequence[int], tile: Sequence[int]) -> Ints:
    """The place in row-major order of each token of a picture that is stored tile after tile."""
    place = np.arange(int(np.prod(extents))).reshape(extents)
    tiles = [place]
    for axis, size in enumerate(tile):
        tiles = [part for block in tiles for part in np.split(block, range(size, block.shape[axis], size), axis=axis)]
    return np.concatenate([block.ravel() for block in tiles])


def natten_tiled(height: int, width: int, kernel: int, tile: Sequence[int]) -> Cells:
    order = _tile_after_tile((height, width), tile)
    return natten_2d(height, width, (kernel, kernel))[np.ix_(order, order)]


def sliding_tile(tiles: Sequence[int], size: int, kernel: Sequence[int], text: int = 0) -> Cells:
    axes = [_window(count, width) for count, width in zip(tiles, kernel, strict=True)]
    video = np.kron(np.kron(np.kron(axes[0], axes[1]), axes[2]), np.ones((size, size), bool))
    cells = np.ones((len(video) + text, len(video) + text), bool)
    cells[: len(video), : len(video)] = video
    return cells


def _zigzag(n: int, ranks: int) -> Ints:
    chunks = np.arange(n).reshape(2 * ranks, -1)
    return np.concatenate([chunks[number] for rank in range(ranks) for number in (rank, 2 * ranks - 1 - rank)])


def zigzag_causal(n: int, ranks: int) -> Cells:
    token = _zigzag(n, ranks)
    return token[None, :] <= token[:, None]


def zigzag_rank(n: int, ranks: int, rank: int) -> Cells:
    token = _zigzag(n, ranks).reshape(ranks, -1)[rank]
    return np.arange(n)[None, :] <= token[:, None]


def paged_causal(n: int, slots: int, table: Sequence[int], size: int) -> Cells:
    cells = np.zeros((n, slots), bool)
    for q in range(n):
        for k in range(q + 1):
            cells[q, table[k // size] * size + k % size] = True
    return cells


def local_cross(q_len: int, kv_len: int, left: int = 64, right: int = 0) -> Cells:
    """`window_size` with the last query over the last key."""
    cells = np.zeros((q_len, kv_len), bool)
    for q in range(q_len):
        middle = q + kv_len - q_len
        first = 0 if left < 0 else max(0, middle - left)
        last = kv_len if right < 0 else middle + right + 1
        cells[q, first : max(first, last)] = True
    return cells


def longformer_scattered(n: int, globals: Sequence[int], left: int = 256, right: int = 256) -> Cells:
    cells = np.tril(np.triu(np.ones((n, n), bool), -left), right)
    cells[list(globals), :] = True
    cells[:, list(globals)] = True
    return cells


def sparse_fixed(n: int, stride: int = 128, summary: int = 8, place: int = 0) -> Cells:
    cells = np.zeros((n, n), bool)
    summed = [k for line in range(0, n, stride) for k in range(line, line + stride)][:n]
    last = [k for k in summed if stride - place - summary <= k % stride < stride - place]
    for q in range(n):
        cells[q, q - q % stride : q + 1] = True
        cells[q, [k for k in last if k <= q]] = True
    return cells


def video_block_causal(frames: int, size: int, chunk: int = 3, window: int = -1, padding: int = 0) -> Cells:
    """Self-Forcing: `end(q) - window * size <= k < end(q) or k == q`, end(q) of the query's chunk."""
    video = frames * size
    q, k = _grid(video + padding, video + padding)
    end = np.minimum((q // (chunk * size) + 1) * chunk * size, video)
    reach = video if window < 0 else window * size
    return ((q < video) & (end - reach <= k) & (k < end)) | (q == k)
