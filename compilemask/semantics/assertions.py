"""Tree -> assertions of the program."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, assert_never, cast

from compilemask.diagnostics import Span
from compilemask.semantics.compositions import composition
from compilemask.semantics.mask_program import (
    Assertion,
    Claim,
    EveryKeySeen,
    EveryQuerySees,
    Measure,
    NeverSees,
    NoLaterKey,
    SameCells,
    SeesAll,
)
from compilemask.semantics.masks import Masks
from compilemask.semantics.numbers import number
from compilemask.semantics.program import Axis, Region
from compilemask.semantics.references import Nodes, References
from compilemask.semantics.report import insert
from compilemask.semantics.rules import check_rule
from compilemask.semantics.scope import Scope
from compilemask.syntax import mask_tree, tree
from compilemask.syntax.limits import MAX_ASSERTIONS
from compilemask.syntax.mask_spelling import spell_claim

_Sign = Literal["<", "<=", "==", "!=", ">=", ">"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where assertions are checked: the names, the regions that they may speak of, and the masks."""

    scope: Scope
    queries: Nodes | None
    keys: Nodes | None
    masks: Masks
    source: str


def check_assertions(nodes: tuple[mask_tree.AssertNode, ...], place: Place) -> tuple[Assertion, ...]:
    """The assertions in order; wrong ones are left out, after a message."""
    if len(nodes) > MAX_ASSERTIONS:
        message = f"a mask may have {MAX_ASSERTIONS} assertions, and this is one more"
        place.scope.report.error("CM217", message, nodes[MAX_ASSERTIONS].span, "keep those that say most")
    found = []
    for node in nodes[:MAX_ASSERTIONS]:
        claim = _claim(node.claim, place)
        if claim is not None:
            found.append(Assertion(claim, spell_claim(node.claim, place.source), node.doc, node.span))
    return tuple(found)


def region_nodes(axis: Axis, span: Span) -> Nodes:
    """The regions of an axis that another mask declares, as the references of assertions look them up."""

    def node(region: Region) -> tree.RegionNode:
        index = None if region.index is None else tree.Name(region.index, span)
        extent = tuple(tree.Missing(span) for _ in region.extent)
        children = tuple(node(child) for child in region.children) or None
        unused = span if region.unused else None
        return tree.RegionNode(
            *(tree.Name(region.name, span), index, None, extent, children, region.doc, span), unused=unused
        )

    return tuple(node(region) for region in axis.regions)


def _claim(node: mask_tree.Claim, place: Place) -> Claim | None:
    scope = place.scope
    match node:
        case mask_tree.CausalClaim(align, span):
            if scope.two_axes and align is None:
                message = "`causal` needs an alignment here, because queries and keys may differ in number"
                hint = "`aligned start` counts both from their first token, `aligned end` from their last"
                fixes = tuple(insert(span.stop, f" aligned {side}") for side in ("start", "end"))
                scope.report.error("CM310", message, span, hint, *fixes)
                return None
            return NoLaterKey(align)
        case mask_tree.EveryClaim(what, _):
            return EveryQuerySees() if what == "query" else EveryKeySeen()
        case mask_tree.RegionClaim(verb, queries, keys, condition, span):
            rule_node = tree.RuleNode(queries, keys, condition, "", span)
            rule = check_rule(rule_node, scope, References(scope, place.queries, place.keys))
            if rule is None:
                return None
            return NeverSees(rule) if verb == "never sees" else SeesAll(rule)
        case mask_tree.MeasureClaim(measure, sign, bound, _):
            if isinstance(bound, mask_tree.DecimalLiteral):
                return Measure(measure, cast(_Sign, sign), Fraction(bound.text))
            value = number(bound, scope)
            return None if value is None else Measure(measure, cast(_Sign, sign), value)
        case mask_tree.EqualsClaim(masks, _):
            checked = composition(masks, scope, place.masks)
            return None if checked is None else SameCells(checked)
        case _:
            assert_never(node)
