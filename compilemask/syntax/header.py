"""The header and the examples."""

from __future__ import annotations

from typing import Literal

from compilemask.diagnostics import Edit, Fix
from compilemask.syntax.cursor import Cursor
from compilemask.syntax.qualifiers import late_qualifiers, parse_qualifiers
from compilemask.syntax.tokens import Token, TokenKind
from compilemask.syntax.tree import ExampleNode, Name, ParameterNode, SettingNode, TypeName
from compilemask.syntax.values import accept_equals, comma_list, parse_value
from compilemask.syntax.words import SYNONYMS


def parse_header(cursor: Cursor) -> tuple[Name, tuple[ParameterNode, ...], str]:
    """`mask NAME(parameters)`, from the current token on; `mask` may be missing, with a message."""
    doc = cursor.doc_before()
    cursor.accept("mask")
    name = _mask_name(cursor)
    opening = cursor.token if cursor.at("(") else None
    if opening is None:
        here = "(" if _at_parameter(cursor) else "()"
        hint = "a mask without parameters is written `mask name()`"
        cursor.report(
            "CM202", f"expected `(` before the parameters, but {cursor.found()}", None, hint, (cursor.insert(here),)
        )
        if here == "()":
            return name, (), doc
    cursor.accept("(")
    parameters: list[ParameterNode] = []
    with cursor.bracket():
        if not cursor.at(")"):
            comma_list(cursor, ")", lambda: parameters.append(_parameter(cursor)))
        cursor.close(opening, ")", "list of parameters")
    return name, tuple(parameters), doc


def _mask_name(cursor: Cursor) -> Name:
    """The name of the mask. It is named nowhere else, so that a word of the language will do: `mask causal(n: int)`."""
    token = cursor.token
    if token.kind is TokenKind.KEYWORD and cursor.ahead(1).is_word("("):
        cursor.advance()
        return Name(token.text, token.span)
    return cursor.expect_name("for the mask")


def _at_parameter(cursor: Cursor) -> bool:
    return cursor.at_name() and cursor.ahead(1).is_word(":")


def _parameter(cursor: Cursor) -> ParameterNode:
    start = cursor.token
    before = cursor.doc_before()
    name = cursor.expect_name("for a parameter")
    type_name: TypeName | None = None
    if cursor.accept(":"):
        type_name = _type(cursor)
    elif name.text:
        hint = "a parameter has a type: `int`, `bool` or `int[]`"
        missing = ":" if cursor.at("int", "bool") else ": int"
        cursor.report(
            "CM202",
            f"expected `:` and a type after `{name.text}`, but {cursor.found()}",
            None,
            hint,
            (cursor.insert(missing),),
        )
        if cursor.at("int", "bool"):
            type_name = _type(cursor)
    per, limits = parse_qualifiers(cursor)
    default = parse_value(cursor) if accept_equals(cursor) else None
    late_qualifiers(cursor)
    doc = cursor.doc(before)
    return ParameterNode(name, type_name, default, doc, cursor.span_from(start), per, limits)


def _type(cursor: Cursor) -> TypeName | None:
    token = cursor.token
    if cursor.at("int", "bool"):
        word: Literal["int", "bool"] = "int" if cursor.advance().text == "int" else "bool"
        if not cursor.at("[", "]"):
            return word
        _type_brackets(cursor, word)
        if not cursor.at("["):
            return "int[]" if word == "int" else "bool[]"
        _type_brackets(cursor, f"{word}[]")
        return "int[][]" if word == "int" else "bool[][]"
    if token.kind is TokenKind.NAME:
        return _foreign_type(cursor)
    hint = "the types are `int`, `bool` and `int[]`"
    cursor.report("CM202", f"expected a type, but {cursor.found()}", None, hint, (cursor.insert("int"),))
    if cursor.accept("["):
        cursor.accept("]")
    return None


def _type_brackets(cursor: Cursor, before: str) -> None:
    opening = cursor.token
    cursor.expect("[", f"in the type `{before}[]`")
    cursor.close(opening, "]", "type")


def _foreign_type(cursor: Cursor) -> TypeName | None:
    """The type that a name like `list[int]` means, with a message."""
    token = cursor.advance()
    if cursor.at("["):
        while not cursor.at_line_end() and not cursor.at("]", ")"):
            cursor.advance()
        cursor.accept("]")
    types: tuple[TypeName, ...] = ("int", "bool", "int[]")
    means = next((t for t in types if token.text in SYNONYMS[t] or token.text.lower() == t), None)
    span = cursor.span_from(token)
    fixes = tuple(Fix(f"Write `{t}`", (Edit(span, t),)) for t in types if means in (t, None))
    shown = cursor.source[span.start : span.stop]
    cursor.say(
        "CM202", f"expected a type, but found `{shown[:40]}`", span, "the types are `int`, `bool` and `int[]`", fixes
    )
    return means


# ---------------------------------------------------------------- examples


def parse_example(cursor: Cursor) -> ExampleNode:
    """`example small(n = 64)`, from the current token on; `example` may be missing, with a message."""
    start = cursor.token
    cursor.accept("example")
    name = cursor.expect_name("for the example")
    settings: list[SettingNode] = []
    opening = cursor.token if cursor.at("(") else None
    if cursor.expect("(", "before the values") is not None or cursor.ahead(1).is_word("="):
        with cursor.bracket():
            if not cursor.at(")"):
                comma_list(cursor, ")", lambda: _setting(cursor, settings))
            cursor.close(opening, ")", "list of values")
    return ExampleNode(name, tuple(settings), cursor.span_from(start))


def _setting(cursor: Cursor, settings: list[SettingNode]) -> None:
    start = cursor.token
    name = cursor.expect_name("for a parameter")
    if accept_equals(cursor) or _missing_equals(cursor):
        settings.append(SettingNode(name, parse_value(cursor), cursor.span_from(start)))


def _missing_equals(cursor: Cursor) -> bool:
    """Say that `=` is missing; whether a value stands here all the same."""
    cursor.report("CM202", f"expected `=` and a value, but {cursor.found()}", None, None, (cursor.insert("="),))
    token: Token = cursor.token
    return token.kind is TokenKind.NUMBER or cursor.at("[", "-", "true", "false")
