"""The cells of one rule: every pair of a query region and a key region that it names."""

from __future__ import annotations

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry import Trapezoids
from compilemask.lowering.binding import Binding
from compilemask.lowering.conditions import ConditionReader, Constant, Node
from compilemask.lowering.domain import check_runs, domain_of
from compilemask.lowering.failure import BindError
from compilemask.lowering.forms import K_SIDE, Q_SIDE, Form, Variable, side_part
from compilemask.lowering.items import Side, finer, instances_as_items, level_needed, side_of
from compilemask.lowering.layout import Layout
from compilemask.lowering.limits import MAX_PAIRS_OF_REGIONS
from compilemask.lowering.pieces import affine_pieces, token_pieces
from compilemask.lowering.solve import Solver
from compilemask.lowering.stored_cells import stored_cells
from compilemask.lowering.translate import Scope
from compilemask.semantics.mask_program import NeverSees, SeesAll
from compilemask.semantics.program import CheckedMask, RegionReference, Rule


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
    q = side_of(queries.regions[q_reference.path], q_reference.indices)
    k = side_of(keys.regions[k_reference.path], k_reference.indices)
    if not _has_tokens(q) or not _has_tokens(k):
        return Trapezoids.empty()
    sides = dict.fromkeys(q.columns, Q_SIDE) | {name: 0 if name in q.columns else K_SIDE for name in k.columns}
    scope = Scope(binding, sides, {"q": q.rank, "k": k.rank})

    def reach(form: Form, span: Span) -> tuple[int, int]:
        q_least, q_greatest = _extremes(side_part(form, Q_SIDE), q, binding, span)
        k_least, k_greatest = _extremes(side_part(form, K_SIDE), k, binding, span)
        return q_least + k_least + form.constant, q_greatest + k_greatest + form.constant

    def agree(q_size: Variable, k_size: Variable, span: Span) -> None:
        _check_sizes_agree(q, k, q_size, k_size, span)

    node: Node = Constant(True)
    if rule.condition is not None:
        node = ConditionReader(scope, reach, agree).read(rule.condition)
    return Solver(binding, rule.span).solve(node, domain_of(q, k, rule.span)).shapes


def _has_tokens(side: Side) -> bool:
    return bool(np.any(side.instances.start < side.instances.stop))


def _check_sizes_agree(q: Side, k: Side, q_size: Variable, k_size: Variable, span: Span) -> None:
    """Raises `BindError` when instances that meet differ in a size along which a window lies."""
    shared = [name for name in q.columns if name in k.columns]
    tables = []
    for side, size in ((q, q_size), (k, k_size)):
        filled = side.instances.start < side.instances.stop
        sizes = instances_as_items(side).constant(size)
        tables.append(np.stack([*(side.columns[name] for name in shared), sizes])[:, filled])
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
