"""The cells of one rule: every pair of a query region and a key region that it names."""

from __future__ import annotations

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry import Trapezoids
from compilemask.lowering.bands import NOTHING
from compilemask.lowering.binding import Binding
from compilemask.lowering.conditions import ConditionReader, Constant, Node
from compilemask.lowering.domain import Domain, check_runs, domain_of
from compilemask.lowering.failure import BindError
from compilemask.lowering.forms import K_SIDE, Q_SIDE, Form, Variable, side_part
from compilemask.lowering.guards import Meeting, check_guards
from compilemask.lowering.items import (
    Side,
    finer,
    instances_as_items,
    kept,
    level_needed,
    side_of,
    variable_ends,
    with_tokens,
)
from compilemask.lowering.layout import Layout
from compilemask.lowering.limits import MAX_PAIRS_OF_REGIONS
from compilemask.lowering.pieces import affine_pieces, token_pieces
from compilemask.lowering.quantities import quantities_of
from compilemask.lowering.solve import Solver
from compilemask.lowering.stored_cells import stored_cells
from compilemask.lowering.tables import Trial, bands_of_one
from compilemask.lowering.translate import Scope
from compilemask.semantics.mask_program import NeverSees, SeesAll
from compilemask.semantics.program import CheckedMask, Condition, RegionReference, Rule


def check_pairs_of_regions(mask: CheckedMask) -> None:
    """Raises `BindError` when the rules name too many pairs of regions."""
    pairs = 0
    claims = [assertion.claim for assertion in mask.assertions]
    asserted = [claim.rule for claim in claims if isinstance(claim, NeverSees | SeesAll)]
    for rule in (*mask.rules, *asserted):
        pairs += len(_distinct(rule.queries)) * len(_distinct(rule.keys))
        if pairs > MAX_PAIRS_OF_REGIONS:
            raise BindError(
                "CM412",
                f"the rules up to this one name more than {MAX_PAIRS_OF_REGIONS:,} pairs of regions",
                rule.span,
                "use one repeated region in place of many regions",
            )


def rule_cells(rule: Rule, binding: Binding, queries: Layout, keys: Layout) -> Trapezoids:
    """The rule's cells as shapes that may overlap; raises `BindError` for numbers that it cannot be worked out with."""
    parts = [
        _pair_cells(rule, q_reference, k_reference, binding, queries, keys)
        for q_reference in _distinct(rule.queries)
        for k_reference in _distinct(rule.keys)
    ]
    shapes = Trapezoids.concat(parts)
    check_runs(len(shapes), rule.span)
    return stored_cells(shapes, queries.storage, keys.storage, rule.span)


def _distinct(references: tuple[RegionReference, ...]) -> list[RegionReference]:
    """The references without repetitions of the same region under the same names."""
    return list({(reference.path, reference.indices): reference for reference in references}.values())


def _pair_cells(
    rule: Rule,
    q_reference: RegionReference,
    k_reference: RegionReference,
    binding: Binding,
    queries: Layout,
    keys: Layout,
) -> Trapezoids:
    q = with_tokens(side_of(queries.regions[q_reference.path], q_reference.indices))
    k = with_tokens(side_of(keys.regions[k_reference.path], k_reference.indices))
    domain = domain_of(q, k, rule.span)
    if not (meets := domain.q_group >= 0).all() or not (domain.k_group >= 0).all():
        q, k = kept(q, meets), kept(k, domain.k_group >= 0)
        domain = domain_of(q, k, rule.span)
    if len(q.instances) == 0 or len(k.instances) == 0:
        return Trapezoids.empty()
    node: Node = Constant(True)
    if rule.condition is not None:
        node = _read(rule.condition, domain, binding, rule.span)
    return Solver(binding, rule.span).solve(node, domain).shapes


def _read(condition: Condition, domain: Domain, binding: Binding, rule: Span) -> Node:
    """The condition for these queries and keys, all of which meet; raises `BindError` where it has no number."""
    q, k = domain.q.side, domain.k.side
    sides = dict.fromkeys(q.columns, Q_SIDE) | {name: 0 if name in q.columns else K_SIDE for name in k.columns}
    scope = Scope(binding, sides, {"q": q.rank, "k": k.rank})

    def reach(form: Form, span: Span) -> tuple[int, int]:
        q_least, q_greatest = _extremes(side_part(form, Q_SIDE), q, binding, span)
        k_least, k_greatest = _extremes(side_part(form, K_SIDE), k, binding, span)
        return q_least + k_least + form.constant, q_greatest + k_greatest + form.constant

    def agree(q_size: Variable, k_size: Variable, span: Span) -> None:
        _check_sizes_agree(q, k, q_size, k_size, span)

    def variable(number: Variable) -> tuple[int, int]:
        return variable_ends(number, k if number.sides == K_SIDE else q)

    def attempt(form: Form, span: Span) -> None:
        if form.is_separable:
            reach(form, span)
            return
        quantities = quantities_of(form, q.rank, k.rank)
        if len(quantities.parts) == 1:
            bands_of_one(Trial(quantities.skeleton, NOTHING, binding, span), *reach(quantities.parts[0], span))
        else:
            Solver(binding, rule).attempt(form, quantities, domain, span)

    check_guards(condition, scope, Meeting(variable, attempt))
    return ConditionReader(scope, reach, agree).read(condition)


def _check_sizes_agree(q: Side, k: Side, q_size: Variable, k_size: Variable, span: Span) -> None:
    """Raises `BindError` when instances that meet differ in a size along which a window lies."""
    shared = [name for name in q.columns if name in k.columns]
    tables = []
    for side, size in ((q, q_size), (k, k_size)):
        sizes = instances_as_items(side).constant(size)
        tables.append(np.stack([*(side.columns[name] for name in shared), sizes]))
    both = np.concatenate(tables, axis=1)
    if np.unique(both, axis=1).shape[1] != np.unique(both[:-1], axis=1).shape[1]:
        least, greatest = int(both[-1].min()), int(both[-1].max())
        raise BindError(
            "CM421",
            f"the window lies in regions of different sizes along its axis, from {least:,} to {greatest:,}",
            span,
            "a region and itself have one size: name the same instance on both sides, as `img[i] sees img[i]`",
        )


def _extremes(form: Form, side: Side, binding: Binding, span: Span) -> tuple[int, int]:
    """The least and the greatest number of a form over all tokens of a side."""
    items = instances_as_items(side)
    level = level_needed(form, side.rank)
    if level > 0:
        items, _ = finer(items, level, span)
    group = np.zeros(len(items), np.int64)
    pieces = affine_pieces([form], items, group, binding, span)
    if pieces is None:
        pieces = token_pieces([form], items, group, binding, span)
    return int(pieces.least().min()), int(pieces.greatest().max())
