"""Ranges of parameters, and which parameters may differ between the items and heads of a batch."""

from __future__ import annotations

from collections.abc import Iterator

from compilemask.diagnostics import Label, Span
from compilemask.semantics.program import PER_TYPES, ParameterType
from compilemask.semantics.report import Report, remove, replace
from compilemask.syntax import tree

Ends = tuple[int | None, int | None]
"""The least and the greatest number; None where there is no limit."""


def check_range(node: tree.ParameterNode, report: Report) -> Ends:
    """The ends of the parameter's range, without those that make no sense, after a message."""
    limits = node.range
    if limits is None:
        return None, None
    if node.type is not None and node.type.startswith("bool"):
        message = f"`{node.name.text}` is true or false, and has no range"
        report.error("CM341", message, limits.span, "remove it", remove(limits.span, "the range"))
        return None, None
    minimum, maximum = ends_of(limits)
    if minimum is not None and maximum is not None and minimum > maximum:
        fix = replace(limits.span, f"in {maximum}..{minimum}")
        report.error("CM341", f"no number is in {minimum}..{maximum}", limits.span, "write the lesser end first", fix)
        return None, None
    return minimum, maximum


def ends_of(limits: tree.RangeNode | None) -> Ends:
    """The numbers of a written range."""
    if limits is None:
        return None, None
    found = [written.value if written is not None else None for written in (limits.minimum, limits.maximum)]
    minimum, maximum = (value if isinstance(value, int) else None for value in found)
    return minimum, maximum


def check_within(value: tree.Value, node: tree.ParameterNode, span: Span, what: str, report: Report) -> None:
    """Says which number of a default or of an example leaves the range of its parameter."""
    minimum, maximum = ends_of(node.range)
    if node.range is None or (minimum is not None and maximum is not None and minimum > maximum):
        return
    for number in numbers_in(value):
        if (minimum is not None and number < minimum) or (maximum is not None and number > maximum):
            labels = (Label(node.range.span, "the range is here"),)
            message = f"{what} of `{node.name.text}` is {number}, and its range is {shown_range(minimum, maximum)}"
            report.error("CM341", message, span, "write a number of the range, or another range", labels=labels)
            return


def numbers_in(value: tree.Value) -> Iterator[int]:
    """All numbers of a value."""
    if isinstance(value, tuple):
        for item in value:
            yield from numbers_in(item)
    elif not isinstance(value, bool):
        yield value


def shown_range(minimum: int | None, maximum: int | None) -> str:
    """`1..4096`, as a text writes it."""
    return f"{'' if minimum is None else minimum}..{'' if maximum is None else maximum}"


def check_per(node: tree.ParameterNode, report: Report) -> tree.Per | None:
    """`item` or `head` of a parameter that may have it; else None, after a message."""
    if node.per is None or node.type is None or ParameterType(node.type) in PER_TYPES:
        return node.per
    message = f"`{node.name.text}` is a list of lists, and cannot differ per {node.per}"
    hint = f"numbers, `bool` and lists can; or give the {node.per} as a number, and choose a row by it"
    report.error("CM342", message, node.span, hint)
    return None


def wanted_type(node: tree.ParameterNode, value: tree.Value | None) -> tree.TypeName | None:
    """The type that an example's value should have: a list with one value for each item or head is right too."""
    if node.type is None or node.per is None or value is None or ParameterType(node.type) not in PER_TYPES:
        return node.type
    if _depth(value) > ParameterType(node.type).depth:
        return PER_TYPES[ParameterType(node.type)].value
    return node.type


def _depth(value: tree.Value) -> int:
    if not isinstance(value, tuple):
        return 0
    return 2 if value and isinstance(value[0], tuple) else 1
