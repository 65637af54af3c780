"""Conditions of a rule as a tree of atoms: negations pushed into the atoms, atoms on one quantity joined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from compilemask.diagnostics import Span
from compilemask.lowering.bands import Bands, bands_of
from compilemask.lowering.forms import (
    BOTH_SIDES,
    K_SIDE,
    Q_SIDE,
    Form,
    Operation,
    Variable,
    add,
    of_term,
    primitive,
    repeats_modulo,
    scale,
)
from compilemask.lowering.items import is_constant_in_items
from compilemask.lowering.limits import UNBOUNDED
from compilemask.lowering.lookups import table_rows
from compilemask.lowering.membership import bands_of_numbers
from compilemask.lowering.number_arrays import Numbers
from compilemask.lowering.quantities import Quantities, quantities_of
from compilemask.lowering.tables import Trial, bands_of_one
from compilemask.lowering.translate import Scope, form_of, no_variable
from compilemask.lowering.windows import Window, check_window, differences, length_of
from compilemask.semantics.program import (
    All,
    Ancestor,
    AnyOf,
    Causal,
    Chosen,
    Compare,
    Condition,
    Flag,
    Member,
    Near,
    Not,
    SamePosition,
)

MAX_SPLITS = 64
"""min, max and abs over both sides that are split into comparisons, for one rule; more are tried cell by cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """`form` lies in `bands`. The form is separable and primitive when quantities is None."""

    form: Form
    bands: Bands
    quantities: Quantities | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Both:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    truth: bool


Node = Atom | Both | Either | Constant

Reach = Callable[[Form, Span], tuple[int, int]]
"""The least and the greatest number that a separable form has anywhere in the rule's regions."""


Agree = Callable[[Variable, Variable, Span], None]
"""Raises `BindError` unless two numbers of instances are equal wherever a query instance meets a key instance."""

_ONE = Bands(np.array([1]), np.array([2]))


@dataclass(slots=True)
class ConditionReader:
    """Reads the conditions of one pair of regions."""

    scope: Scope
    reach: Reach
    agree: Agree
    splits: int = field(default=0)

    def read(self, condition: Condition, negated: bool = False) -> Node:
        match condition:
            case All(items) | AnyOf(items):
                nodes = [self.read(item, negated) for item in items]
                return self._join(nodes, isinstance(condition, All) != negated)
            case Not(item):
                return self.read(item, not negated)
            case Flag(value):
                truth = self.scope.binding.values[value] if isinstance(value, str) else value
                return Constant(bool(truth) != negated)
            case Compare(operator, left, right, span):
                form = add(form_of(left, self.scope), form_of(right, self.scope), span, -1)
                return self._atom(form, _negated(bands_of(operator), negated), span)
            case Chosen(element, span):
                return self._atom(form_of(element, self.scope), _negated(bands_of("!="), negated), span)
            case Ancestor(above, below, parents, span):
                operands = (form_of(above, self.scope), form_of(below, self.scope))
                sides = operands[0].sides | operands[1].sides
                form = of_term(Operation("ancestor", operands, sides, span, parents))
                return self._atom(form, _negated(_ONE, negated), span)
            case Member():
                return self._member(condition, negated)
            case Near():
                return self._near(condition, negated)
            case Causal(align, span):
                return self._atom(_lead(align, "axis", span), _negated(bands_of(">="), negated), span)
            case SamePosition(align, span):
                return self._atom(_lead(align, "region", span), _negated(bands_of("=="), negated), span)
            case _:
                assert_never(condition)

    def _member(self, member: Member, negated: bool) -> Node:
        """Of a list, and of a row that is the same for all cells, the numbers are bands; other rows are looked up."""
        form, binding, span = form_of(member.number, self.scope), self.scope.binding, member.span
        row = None if member.row is None else form_of(member.row, self.scope)
        if row is not None and row.terms:
            found = of_term(Operation("member", (row, form), row.sides | form.sides, span, member.name))
            return self._atom(found, _negated(_ONE, negated), span)
        if row is None:
            numbers = binding.array(member.name)
        else:
            table = binding.table(member.name)
            # an item that is not there has its message
            at = Numbers(np.asarray(row.constant), row.constant, row.constant)
            table_rows(Operation("member", (row,), 0, span, member.name), at, table, no_variable)
            numbers = table.items[table.start[row.constant] : table.start[row.constant + 1]]
        return self._atom(form, _negated(bands_of_numbers(numbers), negated), span)

    def _near(self, near: Near, negated: bool) -> Node:
        kernel, dilation, stride = (
            form_of(number, self.scope).constant for number in (near.kernel, near.dilation, near.stride)
        )
        window = Window(kernel, dilation, stride, near.causal, near.span)
        query, key = (_variable(form_of(place, self.scope)) for place in (near.query, near.key))
        places = length_of(Q_SIDE, query), length_of(K_SIDE, key)
        shortest, longest = self.reach(of_term(places[0]), near.span)
        check_window(window, shortest)
        if not (shortest, longest) == (shortest, shortest) == self.reach(of_term(places[1]), near.span):
            self.agree(*places, near.span)
        length = Form((), shortest) if shortest == longest else of_term(places[0])
        parts = differences(window, query, key, length)
        atoms = [self._atom(part.form, _negated(part.bands, negated), near.span) for part in parts]
        return self._join(atoms, not negated)

    # ------------------------------------------------------------ atoms

    def _atom(self, form: Form, bands: Bands, span: Span) -> Node:
        if len(bands) == 0 or bands.is_everything:
            return Constant(len(bands) > 0)
        if _is_only_zero(bands) or _is_only_zero(bands.complement()):
            form = repeats_modulo(form) or form
        if not form.terms:
            return Constant(bands.contains(form.constant))
        if form.is_separable:
            return self._separable(form, bands, span)
        quantities = quantities_of(form, self.scope.ranks["q"], self.scope.ranks["k"])
        inner = sum(not self._is_outer(part) for part in quantities.parts)
        split = self._splittable(form)
        if split is not None and (len(quantities.parts) == 1 or inner > 1) and self.splits < MAX_SPLITS:
            self.splits += 1
            return self._split(form, *split, bands, span)
        if len(quantities.parts) > 1:
            return Atom(form, bands, quantities, span)
        trial = Trial(quantities.skeleton, bands, self.scope.binding, span)
        found = bands_of_one(trial, *self.reach(quantities.parts[0], span))
        return self._separable(quantities.parts[0], found, span)

    def _separable(self, form: Form, bands: Bands, span: Span) -> Node:
        whole, factor = primitive(form)
        bands = bands.unscaled(factor, form.constant)
        if len(bands) == 0 or bands.is_everything:
            return Constant(len(bands) > 0)
        return Atom(whole, bands, None, span)

    def _is_outer(self, form: Form) -> bool:
        return all(
            is_constant_in_items(of_term(variable), self.scope.ranks["k" if variable.sides == K_SIDE else "q"])
            for variable in form.variables()
        )

    def _splittable(self, form: Form) -> tuple[Operation, int] | None:
        """A min or max over both sides that stands in the sum itself, and its factor."""
        for term, factor in form.terms:
            if isinstance(term, Operation) and term.sides == BOTH_SIDES and term.operator in ("min", "max"):
                return term, factor
        return None

    def _split(self, form: Form, term: Operation, factor: int, bands: Bands, span: Span) -> Node:
        """factor * max(a, b) + rest >= lo when a version or another is; below hi when all versions are."""
        rest = add(form, of_term(term), span, -factor)
        versions = [add(rest, scale(operand, factor, span), span) for operand in term.operands]
        grows = (term.operator == "max") == (factor > 0)
        parts = []
        for lo, hi in zip(bands.lo.tolist(), bands.hi.tolist(), strict=True):
            above = Bands(np.array([lo]), np.array([UNBOUNDED]))
            below = Bands(np.array([-UNBOUNDED]), np.array([hi]))
            reached = self._join([self._atom(version, above, span) for version in versions], not grows)
            kept = self._join([self._atom(version, below, span) for version in versions], grows)
            parts.append(self._join([reached, kept], True))
        return self._join(parts, False)

    # ------------------------------------------------------------ joining

    def _join(self, nodes: list[Node], every: bool) -> Node:
        """All of the nodes (every) or any of them; atoms on the same quantity become one."""
        flat: list[Node] = []
        for node in nodes:
            flat.extend(node.items if isinstance(node, Both if every else Either) else [node])
        if any(isinstance(node, Constant) and node.truth != every for node in flat):
            return Constant(not every)
        joined: dict[Form | int, Node] = {}
        for node in flat:
            if isinstance(node, Constant):
                continue
            if not isinstance(node, Atom) or node.quantities is not None:
                joined[id(node)] = node
                continue
            other = joined.get(node.form)
            if isinstance(other, Atom):
                bands = other.bands.intersection(node.bands) if every else other.bands.union(node.bands)
                if len(bands) == 0 or bands.is_everything:
                    if (len(bands) > 0) != every:
                        return Constant(not every)
                    del joined[node.form]
                    continue
                node = Atom(node.form, bands, None, other.span)
            joined[node.form] = node
        items = tuple(joined.values())
        if not items:
            return Constant(every)
        if len(items) == 1:
            return items[0]
        return Both(items) if every else Either(items)


def _variable(form: Form) -> Variable:
    ((term, _),) = form.terms
    assert isinstance(term, Variable), "coordinates and positions are variables"
    return term


def _is_only_zero(bands: Bands) -> bool:
    return len(bands) == 1 and bands.lo[0] == 0 and bands.hi[0] == 1


def _negated(bands: Bands, negated: bool) -> Bands:
    return bands.complement() if negated else bands


def _lead(align: str | None, unaligned: str, span: Span) -> Form:
    """How far the query is ahead of the key: on the axis, or inside their regions, counted from their starts or ends."""
    if align is None and unaligned == "axis":
        return add(of_term(Variable(Q_SIDE, "axis")), of_term(Variable(K_SIDE, "axis")), span, -1)
    form = add(of_term(Variable(Q_SIDE, "region")), of_term(Variable(K_SIDE, "region")), span, -1)
    if align == "end":
        lengths = add(of_term(Variable(K_SIDE, "length")), of_term(Variable(Q_SIDE, "length")), span, -1)
        form = add(form, lengths, span)
    return form
