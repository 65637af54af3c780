"""length_masks.FAMILIES as functions of rows in Triton: what the lengths say of each row, and which columns it sees.

The torch definitions there are what these equal. Numbers of rows are int32, lengths int64.
"""

from __future__ import annotations

import triton
import triton.language as tl

# Families of masks; causal is one document.
DOCUMENTS = tl.constexpr(0)
SHARED_PROMPT = tl.constexpr(1)
HSTU_JAGGED = tl.constexpr(2)

FAMILY_CODES = {"causal": 0, "documents": 0, "shared_prompt": 1, "hstu_jagged": 2}


@triton.jit
def load_parts(first_ptr, second_ptr, third_ptr, spans, num_spans, FAMILY: tl.constexpr):
    """(first, second, third) int64: the parts that follow each other in each span; 0 for spans that do not exist.

    The pointers are those of the family's lengths in their order. Span 0 of a shared prompt is the prompt.
    """
    exists = spans < num_spans
    if FAMILY == SHARED_PROMPT:
        prompt = tl.load(first_ptr).to(tl.int64)
        response = tl.load(second_ptr + spans - 1, mask=exists & (spans > 0), other=0).to(tl.int64)
        first = tl.where(exists & (spans == 0), prompt, response)
    else:
        first = tl.load(first_ptr + spans, mask=exists, other=0).to(tl.int64)
    if FAMILY == HSTU_JAGGED:
        second = tl.load(second_ptr + spans, mask=exists, other=0).to(tl.int64)
        third = tl.load(third_ptr + spans, mask=exists, other=0).to(tl.int64)
    else:
        second = tl.zeros_like(first)
        third = tl.zeros_like(first)
    return first, second, third


@triton.jit
def clipped(length, total):
    """A length, or what lies nearest of 0 and total + 1: sums of wrong ones must not wrap around."""
    return tl.minimum(tl.maximum(length, 0), total.to(tl.int64) + 1)


@triton.jit
def of_span(inside, values):
    """int32 [rows]: the value of the one span in which each row lies, 0 of none. inside [rows, spans], values [spans]."""
    return tl.sum(tl.where(inside, values[None, :], 0), 1)


@triton.jit
def locate_rows(
    first_ptr, second_ptr, third_ptr, rows, row0, num_spans, total,
    FAMILY: tl.constexpr, BLOCK_M: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """(start, second, third, stop, used, least): where the span of each row begins, its parts begin, and it ends; 0 of none.

    rows: row0, row0 + 1, ... used: the sum of all lengths, int64; least: the smallest of them, or 0. Spans are looked at CHUNK at a time, and
    row by row only those chunks that hold some of these rows.
    """
    start = tl.zeros([BLOCK_M], tl.int32)
    second = tl.zeros([BLOCK_M], tl.int32)
    third = tl.zeros([BLOCK_M], tl.int32)
    stop = tl.zeros([BLOCK_M], tl.int32)
    used = tl.zeros([], tl.int64)
    least = tl.zeros([], tl.int64)
    for begin in range(0, num_spans, CHUNK):
        a, b, c = load_parts(first_ptr, second_ptr, third_ptr, begin + tl.arange(0, CHUNK), num_spans, FAMILY)
        least = tl.minimum(least, tl.min(tl.minimum(a, tl.minimum(b, c)), 0))
        a, b, c = clipped(a, total), clipped(b, total), clipped(c, total)
        length = a + b + c
        stops64 = used + tl.cumsum(length, 0)
        chunk_stop = used + tl.sum(length, 0)
        if (used < row0 + BLOCK_M) & (chunk_stop > row0):
            starts = tl.minimum(stops64 - length, total).to(tl.int32)
            stops = tl.minimum(stops64, total).to(tl.int32)
            inside = (starts[None, :] <= rows[:, None]) & (rows[:, None] < stops[None, :])
            start += of_span(inside, starts)
            stop += of_span(inside, stops)
            if FAMILY == HSTU_JAGGED:
                second += of_span(inside, tl.minimum(stops64 - c - b, total).to(tl.int32))
                third += of_span(inside, tl.minimum(stops64 - c, total).to(tl.int32))
        used = chunk_stop
    return start, second, third, stop, used, least


@triton.jit
def row_interval(
    rows, start, second, third, stop, prompt, used, layer, transposed, FAMILY: tl.constexpr
):  # fmt: skip
    """(lo, hi) of each row in one layer: columns that a query sees or, transposed, queries that see a key.

    start, ..., used: of locate_rows; prompt: the length of the prompt of a shared prompt. Empty where hi <= lo, as for rows without a span.
    """
    if FAMILY == DOCUMENTS:
        lo = tl.where(transposed, rows, start)
        hi = tl.where(transposed, stop, rows + 1)
    elif FAMILY == SHARED_PROMPT:
        in_prompt = rows < prompt
        on_prompt = tl.where(in_prompt, rows + 1, prompt)
        on_own = tl.where(in_prompt, start, rows + 1)
        lo = tl.where(transposed, rows, tl.where(layer == 0, 0, start))
        hi = tl.where(
            transposed, tl.where(in_prompt, used, stop), tl.where(layer == 0, on_prompt, on_own)
        )  # fmt: skip
    else:
        in_context, in_targets = rows < second, rows >= third
        in_history = (rows >= second) & (rows < third)
        seen_lo = tl.where(layer == 0, start, rows)
        seen_hi = tl.where(
            layer == 0, tl.where(in_history, rows + 1, third), tl.where(in_targets, rows + 1, 0)
        )  # fmt: skip
        by_lo = tl.where(layer == 0, tl.where(in_context, start, rows), start)
        by_hi = tl.where(
            layer == 0, tl.where(in_targets, rows + 1, stop), tl.where(in_history, second, 0)
        )  # fmt: skip
        lo = tl.where(transposed, by_lo, seen_lo)
        hi = tl.where(transposed, by_hi, seen_hi)
    return lo, tl.where(rows < stop, hi, lo)


@triton.jit
def keep_lengths(
    first_ptr, second_ptr, third_ptr, own_first_ptr, own_second_ptr, own_third_ptr, num_spans,
    FAMILY: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """Copy the lengths into memory of the mask's own, int64."""
    for begin in range(0, num_spans, CHUNK):
        spans = begin + tl.arange(0, CHUNK)
        exists = spans < num_spans
        a, b, c = load_parts(first_ptr, second_ptr, third_ptr, spans, num_spans, FAMILY)
        if FAMILY == SHARED_PROMPT:
            tl.store(own_first_ptr + spans, a, mask=spans == 0)
            tl.store(own_second_ptr + spans - 1, a, mask=exists & (spans > 0))
        else:
            tl.store(own_first_ptr + spans, a, mask=exists)
        if FAMILY == HSTU_JAGGED:
            tl.store(own_second_ptr + spans, b, mask=exists)
            tl.store(own_third_ptr + spans, c, mask=exists)
