"""The cases of a launch: every combination of what varies, each as a launch of its own without a sweep."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from compilemask_studio.errors import StudioError
from compilemask_studio.schemas import LaunchCreate, Sweep, Values

MAX_CASES = 128
MAX_RUNS = 256


def cases_of(body: LaunchCreate) -> list[LaunchCreate]:
    """In the order of the lists, the last one fastest. StudioError 422 when there are too many, or lists to go side by side
    differ in length."""
    sweep = body.sweep
    directions = sweep.directions or [body.direction]
    dtypes = sweep.dtypes or [body.dtype]
    head_dims = sweep.head_dims or [body.shape.head_dim]
    batches = sweep.batches or [body.shape.batch]
    count = _count_numbers(sweep) * len(directions) * len(dtypes) * len(head_dims) * len(batches)
    _check_count(count, len(body.providers))
    numbers = list(_number_choices(sweep))
    return [
        body.model_copy(
            update={
                "values": {**body.values, **values},
                "direction": direction,
                "dtype": dtype,
                "shape": body.shape.model_copy(update={"head_dim": head_dim, "batch": batch}),
                "sweep": Sweep(),
            }
        )
        for direction, dtype, head_dim, batch, values in product(directions, dtypes, head_dims, batches, numbers)
    ]


def case_text(case: LaunchCreate, body: LaunchCreate) -> str:
    """What is particular about a case of a sweep, such as "n=4096, head_dim 128"; empty without a sweep."""
    parts = [f"{name}={_short(case.values[name])}" for name in body.sweep.values]
    if body.sweep.batches:
        parts.append(f"batch {case.shape.batch}")
    if body.sweep.head_dims:
        parts.append(f"head_dim {case.shape.head_dim}")
    if body.sweep.dtypes:
        parts.append(case.dtype)
    if body.sweep.directions:
        parts.append(case.direction)
    return ", ".join(parts)


def _count_numbers(sweep: Sweep) -> int:
    """How many choices of numbers there are, which are not listed before it is known that they are few."""
    counts = [len(steps) for steps in sweep.values.values()]
    return max(counts, default=1) if sweep.together else math.prod(counts)


def _number_choices(sweep: Sweep) -> Iterator[Values]:
    names, lists = list(sweep.values), list(sweep.values.values())
    if sweep.together and len({len(steps) for steps in lists}) > 1:
        lengths = ", ".join(f"{name} has {len(steps)}" for name, steps in sweep.values.items())
        raise StudioError(
            422,
            "invalid_request",
            f"sweep.values: lists that go together must be of one length; {lengths}",
            "give each the same number of values, or take all combinations",
        )
    rows = zip(*lists, strict=True) if sweep.together and lists else product(*lists)
    for row in rows:
        yield dict(zip(names, row, strict=True))


def _check_count(cases: int, providers: int) -> None:
    if cases > MAX_CASES or cases * providers > MAX_RUNS:
        raise StudioError(
            422,
            "invalid_request",
            f"this sweep has {cases:,} cases and {cases * providers:,} runs; one launch takes at most {MAX_CASES} and {MAX_RUNS}",
            "take fewer values or providers, or start several launches",
        )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
