"""Masks made of masks, and assertions, as text in the canonical spelling."""

from __future__ import annotations

from typing import assert_never

from compilemask.syntax.mask_tree import (
    AllowNode,
    ArgumentNode,
    CausalClaim,
    Claim,
    DecimalLiteral,
    EqualsClaim,
    EveryClaim,
    MaskCall,
    MaskExcept,
    MaskExpression,
    MaskGroup,
    MaskLogic,
    MaskNot,
    MeasureClaim,
    RegionClaim,
)
from compilemask.syntax.spelling import spell, spell_reference, spell_value
from compilemask.syntax.tree import Missing, Written


def spell_masks(node: MaskExpression, source: str) -> str:
    """An expression of masks on one line."""
    match node:
        case Missing():
            return ""
        case MaskCall(name, arguments, _):
            return f"{name.text}({', '.join(_argument(argument, source) for argument in arguments)})"
        case MaskNot(operand, _):
            return f"not {spell_masks(operand, source)}"
        case MaskLogic(operator, items, _):
            return f" {operator} ".join(spell_masks(item, source) for item in items)
        case MaskExcept(left, right, _):
            return f"{spell_masks(left, source)} except {spell_masks(right, source)}"
        case MaskGroup(inner, _):
            return f"({spell_masks(inner, source)})"
        case _:
            assert_never(node)


def mask_pieces(node: MaskExpression) -> list[tuple[str, MaskExpression]]:
    """An expression cut at its outermost joining words: the word before each piece, and the piece."""
    match node:
        case MaskExcept(left, right, _):
            return [*mask_pieces(left), ("except", right)]
        case MaskLogic(operator, items, _):
            return [("" if item is items[0] else operator, item) for item in items]
        case _:
            return [("", node)]


def spell_claim(node: Claim, source: str) -> str:
    """What stands behind `assert`, on one line."""
    match node:
        case CausalClaim(align, _):
            return f"causal aligned {align}" if align else "causal"
        case EveryClaim(what, _):
            return "every query sees a key" if what == "query" else "every key is seen"
        case RegionClaim(verb, queries, keys, condition, _):
            regions = f"{', '.join(map(spell_reference, queries))} {verb} {', '.join(map(spell_reference, keys))}"
            return regions if condition is None else f"{regions} {spell(condition, source)}"
        case MeasureClaim(measure, sign, bound, _):
            shown = bound.text if isinstance(bound, DecimalLiteral) else spell(bound, source)
            return f"{measure} {sign} {shown}"
        case EqualsClaim(masks, _):
            return f"equals {spell_masks(masks, source)}"
        case _:
            assert_never(node)


def spell_allowance(node: AllowNode) -> str:
    """What stands behind `allow`."""
    regions = ", ".join(map(spell_reference, node.regions))
    return f"{node.what} in {regions}" if regions else node.what


def _argument(node: ArgumentNode, source: str) -> str:
    value = "".join(spell_value(node.value, source)) if isinstance(node.value, Written) else spell(node.value, source)
    return value if node.name is None else f"{node.name.text} = {value}"
