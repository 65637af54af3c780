"""The cells of a condition tree over a domain: outer atoms choose the pairs of items, the others cut their tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry import RunSet, Trapezoids, combine, normalize
from compilemask.geometry.ragged import BoolArray, IntArray, spread
from compilemask.lowering.bands import NOTHING, Bands, band_cells, intersect_aligned
from compilemask.lowering.binding import Binding
from compilemask.lowering.conditions import Atom, Both, Constant, Either, Node
from compilemask.lowering.domain import Blocks, Domain, blocks_by_group, check_runs, merged
from compilemask.lowering.failure import sizes_reported, too_many_runs
from compilemask.lowering.forms import K_SIDE, Q_SIDE, Form, of_term, side_part
from compilemask.lowering.items import Items, is_constant_in_items, level_needed, names_only_the_axis
from compilemask.lowering.level_sets import cells_by_level, runs_of
from compilemask.lowering.limits import MAX_CELLS, MAX_RUNS, MAX_TABLE, MAX_WORK
from compilemask.lowering.listed_cells import listed_cells
from compilemask.lowering.pieces import Pieces, affine_pieces, position_pieces, token_pieces
from compilemask.lowering.quantities import Quantities
from compilemask.lowering.tables import Trial, class_cells, projections, table_cells

FEW_PAIRS = 2**14
"""Pairs of pieces that are tried without asking whether level sets would be fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Cells of a condition; `limited`: whether they respect the ranges of the domain that it was solved in."""

    shapes: Trapezoids
    limited: bool


@dataclass(frozen=True, slots=True, eq=False)
class Solver:
    """Solves the conditions of one pair of regions. span: the rule, for messages about its size."""

    binding: Binding
    span: Span

    def solve(self, node: Node, domain: Domain) -> Found:
        """The node's cells, without empty rows; they may overlap."""
        match node:
            case Constant(truth):
                return Found(domain.cells() if truth else Trapezoids.empty(), True)
            case Either(items):
                found = [self.solve(item, domain) for item in items]
                shapes = Trapezoids.concat([part.shapes for part in found])
                check_runs(len(shapes), self.span)
                return Found(shapes, all(part.limited for part in found))
            case Both(items):
                return self._both(items, domain)
            case Atom():
                return self._both((node,), domain) if self._is_outer(node, domain) else self._inner_atom(node, domain)
            case _:
                assert_never(node)

    def attempt(self, form: Form, quantities: Quantities, domain: Domain, span: Span) -> None:
        """Evaluates a form on both sides for all pairs of the domain; raises `BindError` where it has no number."""
        atom = Atom(form, NOTHING, quantities, span)
        domain = domain.deeper(
            level_needed(_of_side(form, Q_SIDE), domain.q.side.rank),
            level_needed(_of_side(form, K_SIDE), domain.k.side.rank),
        )
        q_forms = tuple(_of_side(part, Q_SIDE) for part in quantities.parts)
        k_forms = tuple(_of_side(part, K_SIDE) for part in quantities.parts)
        q = self._pieces(q_forms, domain.q, domain.q_group, True, span)
        k = self._pieces(k_forms, domain.k, domain.k_group, True, span)
        self._cells(atom, *blocks_by_group(q, k))

    # ------------------------------------------------------------ conjunctions

    def _both(self, items: tuple[Node, ...], domain: Domain) -> Found:
        outer = [item for item in items if self._is_outer(item, domain)]
        inner = [item for item in items if not self._is_outer(item, domain)]
        domain = self._restrict(outer, domain)
        if not np.any(domain.q_group >= 0) or (domain.ranges is not None and domain.ranges.num_pieces == 0):
            return Found(Trapezoids.empty(), True)
        if not inner:
            return Found(domain.cells(), True)
        found = [self.solve(item, domain) for item in inner]
        sets = [part.shapes for part in found]
        if domain.ranges is not None and not any(part.limited for part in found):
            sets.append(domain.cells())
        shapes = sets[0]
        for other in sets[1:]:
            shapes = self._intersection(shapes, other)
        return Found(shapes, True)

    def _restrict(self, outer: list[Node], domain: Domain) -> Domain:
        """The domain of the pairs of items that satisfy every outer node."""
        forms = [atom.form for node in outer for atom in _atoms(node)]
        domain = domain.deeper(
            max((level_needed(_of_side(form, Q_SIDE), domain.q.side.rank) for form in forms), default=0),
            max((level_needed(_of_side(form, K_SIDE), domain.k.side.rank) for form in forms), default=0),
        )
        others = []
        q_keys, k_keys = [], []
        for node in outer:
            if isinstance(node, Atom) and node.quantities is None and _is_equality(node.bands):
                q, k = self._positions((node.form,), domain, node.span)
                q_keys.append(_numbers_by_item(q, len(domain.q)))
                k_keys.append(int(node.bands.lo[0]) - _numbers_by_item(k, len(domain.k)))
            else:
                others.append(node)
        domain = domain.regrouped(q_keys, k_keys)
        for node in others:
            if not np.any(domain.q_group >= 0):
                break
            domain = domain.limited(self._pairs(node, domain))
        return domain

    def _pairs(self, node: Node, domain: Domain) -> RunSet:
        """The (query item, key item) pairs of an outer node, inside the groups."""
        match node:
            case Both(items):
                return self._joined([self._pairs(item, domain) for item in items], np.all)
            case Either(items):
                return self._joined([self._pairs(item, domain) for item in items], np.any)
            case Atom(form, _, quantities, span):
                wanted = (form,) if quantities is None else quantities.parts
                q, k = self._positions(wanted, domain, span)
                q, k, blocks = blocks_by_group(q, k)
                return self._normal(self._cells(node, q, k, blocks).shapes)
            case Constant():
                raise AssertionError("constants are joined away inside of conditions")
            case _:
                assert_never(node)

    def _joined(self, sets: list[RunSet], how: Callable[..., BoolArray]) -> RunSet:
        with sizes_reported("this rule makes", self.span):
            return combine(sets, lambda inside: how(inside, axis=0))

    def _positions(self, wanted: tuple[Form, ...], domain: Domain, span: Span) -> tuple[Pieces, Pieces]:
        q_forms = [_of_side(form, Q_SIDE) for form in wanted]
        k_forms = [_of_side(form, K_SIDE) for form in wanted]
        return (
            position_pieces(q_forms, domain.q, domain.q_group, self.binding, span),
            position_pieces(k_forms, domain.k, domain.k_group, self.binding, span),
        )

    def _intersection(self, a: Trapezoids, b: Trapezoids) -> Trapezoids:
        if len(a) * len(b) <= 4 * (len(a) + len(b)) + 64:
            left, right = np.divmod(np.arange(len(a) * len(b)), max(len(b), 1))
            return intersect_aligned(a.take(left), b.take(right))
        self._spend_on_sweeps(a, b)
        with sizes_reported("this rule makes", self.span):
            return combine([normalize(a), normalize(b)], lambda inside: np.all(inside, axis=0)).trapezoids()

    def _normal(self, shapes: Trapezoids) -> RunSet:
        self._spend_on_sweeps(shapes)
        with sizes_reported("this rule makes", self.span):
            return normalize(shapes)

    def _spend_on_sweeps(self, *sets: Trapezoids) -> None:
        for shapes in sets:
            cuts = np.sort(np.concatenate([shapes.q_start, shapes.q_stop]))
            slabs = np.searchsorted(cuts, shapes.q_stop) - np.searchsorted(cuts, shapes.q_start)
            self.binding.spend(min(int(slabs.sum()), MAX_WORK), self.span)

    # ------------------------------------------------------------ atoms

    def _is_outer(self, node: Node, domain: Domain) -> bool:
        """Whether a node looks at numbers that are constant in items, and nothing else."""
        return all(
            is_constant_in_items(_of_side(atom.form, Q_SIDE), domain.q.side.rank)
            and is_constant_in_items(_of_side(atom.form, K_SIDE), domain.k.side.rank)
            for atom in _atoms(node)
        )

    def _inner_atom(self, atom: Atom, domain: Domain) -> Found:
        wanted = (atom.form,) if atom.quantities is None else atom.quantities.parts
        q_forms = tuple(_of_side(form, Q_SIDE) for form in wanted)
        k_forms = tuple(_of_side(form, K_SIDE) for form in wanted)
        on_axis = all(names_only_the_axis(form) for form in (*q_forms, *k_forms))
        if on_axis and domain.ranges is not None and atom.quantities is None:
            direct = self._on_rectangles(q_forms[0], k_forms[0], atom, domain)
            if direct is not None:
                return Found(direct, True)
        domain = domain.deeper(
            max(level_needed(form, domain.q.side.rank) for form in q_forms),
            max(level_needed(form, domain.k.side.rank) for form in k_forms),
        )
        domain = self._near(atom, domain)
        by_item = domain.ranges is not None and not on_axis
        q = self._pieces(q_forms, domain.q, domain.q_group, by_item, atom.span)
        k = self._pieces(k_forms, domain.k, domain.k_group, by_item, atom.span)
        q, k, blocks = domain.blocks(q, k) if by_item else blocks_by_group(q, k)
        found = self._cells(atom, q, k, blocks)
        return Found(found.shapes, domain.ranges is None or (by_item and found.limited))

    def _near(self, atom: Atom, domain: Domain) -> Domain:
        """The pairs of items that can hold a cell, by each outer quantity alone; for conditions on several quantities."""
        if atom.quantities is None or len(domain.q) * len(domain.k) <= FEW_PAIRS:
            return domain
        parts = atom.quantities.parts
        outer = [
            row for row, part in enumerate(parts) if self._is_outer(Atom(part, atom.bands, None, atom.span), domain)
        ]
        if not outer or len(outer) == len(parts):
            return domain
        q = self._pieces(tuple(_of_side(part, Q_SIDE) for part in parts), domain.q, domain.q_group, True, atom.span)
        k = self._pieces(tuple(_of_side(part, K_SIDE) for part in parts), domain.k, domain.k_group, True, atom.span)
        if len(q) == 0 or len(k) == 0:
            return domain
        least = (q.least().min(axis=1) + k.least().min(axis=1)).tolist()
        greatest = (q.greatest().max(axis=1) + k.greatest().max(axis=1)).tolist()
        trial = Trial(atom.quantities.skeleton, atom.bands, self.binding, atom.span)
        found = projections(trial, least, greatest, outer)
        if found is None:
            return domain
        chosen: list[Node] = [Atom(parts[row], bands, None, atom.span) for row, bands in zip(outer, found, strict=True)]
        return self._restrict(chosen, domain)

    def _cells(self, atom: Atom, q: Pieces, k: Pieces, blocks: Blocks) -> Found:
        """An atom's cells in the pieces' groups; `limited` when they respect the blocks too."""
        if atom.quantities is None:
            return self._separable(q, k, blocks, atom.bands, atom.span)
        trial = Trial(atom.quantities.skeleton, atom.bands, self.binding, atom.span)
        if _is_one(atom.bands):
            listed = listed_cells(trial.skeleton, atom.quantities.parts, self.binding, q, k, atom.span)
            if listed is not None:
                return Found(listed, False)
        sloped = np.flatnonzero(np.any(q.slope != 0, axis=1) | np.any(k.slope != 0, axis=1))
        if len(sloped) <= 1:
            found = table_cells(trial, q, k, blocks, int(sloped[0]) if len(sloped) else None)
            if found is not None:
                return Found(found, True)
        return Found(class_cells(trial, q, k), False)

    def _pieces(self, forms: tuple[Form, ...], items: Items, group: IntArray, by_item: bool, span: Span) -> Pieces:
        if not by_item and all(names_only_the_axis(form) for form in forms):
            items, group = merged(items, group)
        found = affine_pieces(forms, items, group, self.binding, span)
        return found if found is not None else token_pieces(forms, items, group, self.binding, span)

    def _on_rectangles(self, q_form: Form, k_form: Form, atom: Atom, domain: Domain) -> Trapezoids | None:
        """An atom on absolute positions alone: each rectangle of the domain cut by it."""
        q_items, q_group = merged(domain.q, domain.q_group)
        k_items, k_group = merged(domain.k, domain.k_group)
        q = affine_pieces([q_form], q_items, q_group, self.binding, atom.span)
        k = affine_pieces([k_form], k_items, k_group, self.binding, atom.span)
        if q is None or k is None or len(q) == 0 or len(k) == 0:
            return None
        rectangles = domain.cells()
        if len(rectangles) * len(atom.bands) > MAX_RUNS:
            return None
        rectangle, band = spread(np.zeros(len(rectangles), np.int64), np.full(len(rectangles), len(atom.bands)))
        cut = rectangles.take(rectangle)
        q_slope, k_slope = q.slope[0, 0], k.slope[0, 0]
        constant = q.offset[0, 0] + k.offset[0, 0]
        same = np.ones(len(cut), np.int64)
        return band_cells(
            (cut.q_start, cut.q_stop),
            (cut.lo_offset, cut.hi_offset),
            q_slope * same,
            k_slope * same,
            constant * same,
            (atom.bands.lo[band], atom.bands.hi[band]),
        )

    def _separable(self, q: Pieces, k: Pieces, blocks: Blocks, bands: Bands, span: Span) -> Found:
        """F(q) + G(k) in bands: by pairs of pieces or by level sets, whichever is less."""
        pairs = blocks.num_pairs * len(bands)
        if pairs > FEW_PAIRS or _rows_of_steps(q, k) > FEW_PAIRS:
            rows, keys = runs_of(q, MAX_TABLE), runs_of(k, MAX_TABLE)
            if rows is not None and keys is not None and len(bands) <= FEW_PAIRS:
                intervals, found = cells_by_level(rows, keys, bands)
                if intervals <= max(pairs, _rows_of_steps(q, k)):
                    return Found(Trapezoids.concat([sets.cells(span) for sets in found]), False)
        if blocks.num_pairs <= MAX_CELLS:
            self.binding.spend(blocks.num_pairs, span)
        cells = None if blocks.num_pairs > MAX_CELLS else _pair_cells(q, k, blocks, bands, span)
        if cells is None:
            pieces = max(pairs, _rows_of_steps(q, k) * len(bands))
            raise too_many_runs(
                f"this condition cuts its regions into {pieces:,} pieces; the limit is {MAX_RUNS:,}", span
            )
        return Found(cells, True)


def _pair_cells(q: Pieces, k: Pieces, blocks: Blocks, bands: Bands, span: Span) -> Trapezoids | None:
    """The bands of every pair of pieces that has a number in them; None when that takes too many rows."""
    q_least, q_greatest = q.least()[0], q.greatest()[0]
    k_least, k_greatest = k.least()[0], k.greatest()[0]
    parts = []
    total = 0
    for a, b in blocks.pairs():
        first = np.searchsorted(bands.hi, q_least[a] + k_least[b], side="right")
        last = np.searchsorted(bands.lo, q_greatest[a] + k_greatest[b], side="right")
        pair, band = spread(first, np.maximum(last - first, 0))
        check_runs(total + len(pair), span)
        a, b = a[pair], b[pair]
        cells = band_cells(
            (q.start[a], q.stop[a]),
            (k.start[b], k.stop[b]),
            q.slope[0, a],
            k.slope[0, b],
            q.offset[0, a] + k.offset[0, b],
            (bands.lo[band], bands.hi[band]),
        )
        if cells is None:
            return None
        total += len(cells)
        parts.append(cells)
    return Trapezoids.concat(parts)


def _rows_of_steps(q: Pieces, k: Pieces) -> int:
    """Rows that pairs of pieces would be taken by one by one, since their ends are not affine."""
    steps = np.unique(np.abs(k.slope))
    steps = steps[steps > 1]
    if len(steps) == 0:
        return 0
    uneven = np.any(q.slope[0][:, None] % steps[None, :] != 0, axis=1)
    return int((q.stop - q.start)[uneven].sum())


def _atoms(node: Node) -> list[Atom]:
    match node:
        case Atom():
            return [node]
        case Both(items) | Either(items):
            return [atom for item in items for atom in _atoms(item)]
        case Constant():
            return []
        case _:
            assert_never(node)


def _of_side(form: Form, side: int) -> Form:
    """The terms of one side; of a form that is not separable, the variables of that side (to see what it needs)."""
    if form.is_separable:
        return side_part(form, side)
    wanted = (0, Q_SIDE) if side == Q_SIDE else (K_SIDE,)
    chosen = dict.fromkeys(variable for variable in form.variables() if variable.sides in wanted)
    return Form(tuple(of_term(variable).terms[0] for variable in chosen), 0)


def _is_equality(bands: Bands) -> bool:
    return len(bands) == 1 and bands.hi[0] - bands.lo[0] == 1


def _is_one(bands: Bands) -> bool:
    return len(bands) == 1 and bands.lo[0] == 1 and bands.hi[0] == 2


def _numbers_by_item(pieces: Pieces, count: int) -> IntArray:
    """The number of the first form in each item, of pieces over positions."""
    piece, position = spread(pieces.start, pieces.stop - pieces.start)
    numbers = np.zeros(count, np.int64)
    numbers[position] = pieces.slope[0, piece] * position + pieces.offset[0, piece]
    return numbers
