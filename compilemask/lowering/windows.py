"""`near`: windows of one size, pushed inside at the border, as sets of differences between key and query numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.diagnostics import Span
from compilemask.lowering import forms
from compilemask.lowering.bands import Bands, bands_of
from compilemask.lowering.failure import BindError
from compilemask.lowering.forms import Form, Variable

MAX_KERNEL = 2**20
"""Places of one window."""


@dataclass(frozen=True, slots=True)
class Window:
    """The numbers of one `near`: all at least 1."""

    kernel: int
    dilation: int
    stride: int
    causal: bool
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """`form`, a number of the key minus one of the query, lies in `bands`."""

    form: Form
    bands: Bands


def check_window(window: Window, shortest: int) -> None:
    """Raises `BindError` for numbers that make no window, and for an axis of `shortest` places that cannot hold it."""
    for word, number in (("kernel", window.kernel), ("dilation", window.dilation), ("stride", window.stride)):
        if number < 1:
            raise BindError("CM421", f"the {word} of this window is {number}", window.span, "bind 1 or more")
    if window.stride > window.kernel:
        message = f"the stride of this window is {window.stride}, more than its {window.kernel} places"
        raise BindError(
            "CM421", message, window.span, "a window holds the queries that share it: bind a smaller stride"
        )
    if window.kernel > MAX_KERNEL:
        message = f"this window has {window.kernel:,} places; the limit is {MAX_KERNEL:,}"
        raise BindError("CM421", message, window.span, "bind a smaller window")
    if not window.causal and shortest // window.dilation < window.kernel:
        spaced = f" with {window.dilation} from one to the next" if window.dilation > 1 else ""
        raise BindError(
            "CM421",
            f"a window of {window.kernel} places{spaced} does not fit into {shortest}",
            window.span,
            "the window is pushed inside at the border, so that it must fit: bind a smaller one",
        )


def differences(window: Window, query: Variable, key: Variable, length: Form) -> list[Difference]:
    """What must hold of key and query together. length: the number of places along the axis, a number of the query."""
    span, dilation, kernel = window.span, window.dilation, window.kernel
    here, there = forms.of_term(query), forms.of_term(key)
    if window.causal:
        steps = _steps(-(kernel - 1), kernel, dilation)
        if window.stride == 1:
            return [Difference(forms.add(there, here, span, -1), steps)]
        leader = _leader(window, here, length, window.stride - 1)
        later = Difference(forms.add(there, here, span, -1), bands_of("<="))
        return [Difference(forms.add(there, leader, span, -1), steps), later]
    start = _start(window, here, length)
    return [Difference(forms.add(there, start, span, -1), _steps(0, kernel, dilation))]


def _steps(first: int, count: int, dilation: int) -> Bands:
    """The numbers dilation * n for first <= n < first + count."""
    if dilation == 1:
        return Bands(np.array([first]), np.array([first + count]))
    lo = dilation * np.arange(first, first + count)
    return Bands(lo, lo + 1)


def _line(window: Window, here: Form, length: Form) -> tuple[Form, Form, Form]:
    """Of the query in the line of every dilation-th place: its place, its remainder, and the last place of the line."""
    span, one = window.span, forms.constant(1, window.span)
    if window.dilation == 1:
        return here, forms.constant(0, span), forms.add(length, one, span, -1)
    step = forms.constant(window.dilation, span)
    place, rest = forms.divide("//", here, step, span), forms.divide("%", here, step, span)
    last = forms.add(forms.add(length, one, span, -1), rest, span, -1)
    return place, rest, forms.divide("//", last, step, span)


def _in_line(window: Window, place: Form, rest: Form) -> Form:
    return forms.add(forms.scale(place, window.dilation, window.span), rest, window.span)


def _leading_place(window: Window, place: Form, last: Form, inside: int) -> Form:
    """The place of the query's group that its window lies around: number `inside` of the group, but not behind the last."""
    if window.stride == 1:
        return place
    span, stride = window.span, forms.constant(window.stride, window.span)
    group = forms.scale(forms.divide("//", place, stride, span), window.stride, span)
    return forms.extreme("min", (forms.add(group, forms.constant(inside, span), span), last), span)


def _leader(window: Window, here: Form, length: Form, inside: int) -> Form:
    place, rest, last = _line(window, here, length)
    return _in_line(window, _leading_place(window, place, last, inside), rest)


def _start(window: Window, here: Form, length: Form) -> Form:
    """The first place of the window."""
    span = window.span
    place, rest, last = _line(window, here, length)
    leader = _leading_place(window, place, last, window.stride // 2)
    wanted = forms.add(leader, forms.constant(window.kernel // 2, span), span, -1)
    greatest = forms.add(last, forms.constant(window.kernel - 1, span), span, -1)
    pushed = forms.extreme("max", (forms.constant(0, span), wanted), span)
    return _in_line(window, forms.extreme("min", (pushed, greatest), span), rest)


def length_of(side: int, variable: Variable) -> Variable:
    """How many places there are along the axis of a variable."""
    if variable.kind == "coordinate":
        return Variable(side, "extent", variable.name, variable.axis)
    return Variable(side, "length")
