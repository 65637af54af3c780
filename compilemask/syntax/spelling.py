"""Expressions, references and values as text, in the canonical spelling. Brackets stay where they were written."""

from __future__ import annotations

import re
from typing import assert_never

from compilemask.syntax.tree import (
    Ancestry,
    Arithmetic,
    BoolLiteral,
    Calling,
    Comparison,
    Delta,
    Expression,
    Group,
    Item,
    Joined,
    Logic,
    Member,
    Membership,
    Missing,
    Name,
    Near,
    NumberLiteral,
    Prefix,
    ReferenceNode,
    Relation,
    Written,
)

_WORD = re.compile(r"-?\s*[0-9][0-9_]*|true|false|[\[\]]")
_COMMENT = re.compile(r"#[^\n\r]*")


def spell(node: Expression, source: str) -> str:
    """An expression of `source` on one line."""
    match node:
        case Missing():
            return ""
        case Name(text, _):
            return text
        case NumberLiteral(_, span):
            return source[span.start : span.stop]
        case BoolLiteral(value, _):
            return "true" if value else "false"
        case Item(name, index, _, second):
            rest = "" if second is None else f"[{spell(second, source)}]"
            return f"{name.text}[{spell(index, source)}]{rest}"
        case Member(side, field, _):
            return f"{side}.{field}" if field else side
        case Delta(axis, _):
            return f"d{axis}"
        case Prefix(operator, operand, _):
            return f"{'not ' if operator == 'not' else '-'}{spell(operand, source)}"
        case Arithmetic(operator, left, right, _):
            space = "" if _is_tight(node) else " "
            return f"{spell(left, source)}{space}{operator}{space}{spell(right, source)}"
        case Comparison(first, links, _):
            return spell(first, source) + "".join(f" {sign} {spell(right, source)}" for sign, right in links)
        case Logic(operator, items, _):
            return f" {operator} ".join(spell(item, source) for item in items)
        case Joined(word, first_half, second_half, _):
            start = "" if first_half is None else spell(first_half, source) + " "
            return f"{start}{word} {spell(second_half, source)}"
        case Calling(function, arguments, _):
            return f"{function}({', '.join(spell(argument, source) for argument in arguments)})"
        case Relation(name, align, _):
            return f"{name} aligned {align}" if align else name
        case Ancestry(above, below, parents, _):
            return f"{spell(above, source)} is ancestor of {spell(below, source)} in {parents.text}"
        case Membership(number, list_name, row, _):
            picked = "" if row is None else f"[{spell(row, source)}]"
            return f"{spell(number, source)} in {list_name.text}{picked}"
        case Near():
            return _near(node, source)
        case Group(inner, _):
            return f"({spell(inner, source)})"
        case _:
            assert_never(node)


def _near(node: Near, source: str) -> str:
    parts = [node.axis, spell(node.kernel, source)]
    parts += [
        f"{word} = {spell(value, source)}"
        for word, value in (("dilation", node.dilation), ("stride", node.stride))
        if value is not None
    ]
    return f"near({', '.join([*parts, *(['causal'] if node.causal else [])])})"


def _is_tight(node: Arithmetic) -> bool:
    """Products of single names and numbers stand close: `dy*dy + dx*dx`."""
    left = node.left
    close = _is_single(left) or (isinstance(left, Arithmetic) and _is_tight(left))
    return node.operator == "*" and close and _is_single(node.right)


def _is_single(node: Expression) -> bool:
    return isinstance(node, Name | NumberLiteral | Member | Delta)


def spell_reference(node: ReferenceNode) -> str:
    """`doc[i].P`"""
    return ".".join(part.name.text + (f"[{part.index.text}]" if part.index else "") for part in node.parts)


def spell_value(node: Written, source: str) -> list[str]:
    """A written value in pieces: one piece, or for a list its items with their commas, between its brackets."""
    text = _COMMENT.sub("", source[node.span.start : node.span.stop])
    if isinstance(node.value, bool):
        return [text]
    words = ["".join(found.split()) for found in _WORD.findall(text)]
    if not isinstance(node.value, tuple):
        return words
    pieces: list[str] = []
    before = ""
    for word in words[1:-1]:
        match word:
            case "[":
                before = "["
            case "]" if before:
                pieces.append("[], ")
                before = ""
            case "]":
                pieces[-1] = pieces[-1].removesuffix(", ") + "], "
            case _:
                pieces.append(f"{before}{word}, ")
                before = ""
    return ["[", *pieces[:-1], *(piece.removesuffix(", ") for piece in pieces[-1:]), "]"]
