"""Integer expressions with the parameters filled in: sums of integer multiples of terms.

A term is a variable of one side (a position, a coordinate, an instance number) or an operation that is not a sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import gcd
from typing import Literal

from compilemask.diagnostics import Span
from compilemask.lowering.failure import BindError
from compilemask.lowering.limits import MAX_NUMBER, MAX_OPERATIONS

Q_SIDE = 1
K_SIDE = 2
BOTH_SIDES = Q_SIDE | K_SIDE

VariableKind = Literal["axis", "region", "length", "extent", "index", "coordinate", "quantity"]
Operator = Literal[
    "*", "//", "%", "min", "max", "element", "item", "row len", "row sum", "row min", "row max", "ancestor", "member"
]


@dataclass(frozen=True, slots=True)
class Variable:
    """A number that one token of a side has.

    sides: Q_SIDE, K_SIDE, or 0 for an instance number that both sides share. axis: of a coordinate, 0 the outermost.
    length: of the token's innermost region instance; extent: of its grid, along `axis`. Only axis, region and an innermost coordinate change inside a line.
    quantity: number `axis` of a list of separable forms, which stands for them inside of a larger form (quantities.py).
    """

    sides: int
    kind: VariableKind
    name: str = ""
    axis: int = 0

    @property
    def shown(self) -> str:
        """As a text writes it, for messages."""
        side = "k" if self.sides == K_SIDE else "q"
        match self.kind:
            case "axis":
                return side
            case "region":
                return f"{side}.pos"
            case "length":
                return f"length of {side}'s region"
            case "extent":
                return f"size of {side}'s grid along {self.name}"
            case "index":
                return self.name
            case "coordinate":
                return f"{side}.{self.name}"
            case "quantity":
                return self.name


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on forms that is not itself a sum. `list_name` is the list of an "element", and the table of the others."""

    operator: Operator
    operands: tuple[Form, ...]
    sides: int
    span: Span = field(compare=False)
    list_name: str = ""


Term = Variable | Operation


@dataclass(frozen=True, slots=True)
class Form:
    """constant + the sum of factor * term. Factors are not 0; no term stands twice."""

    terms: tuple[tuple[Term, int], ...]
    constant: int

    @property
    def sides(self) -> int:
        """The sides that it speaks of: Q_SIDE, K_SIDE, both or 0."""
        sides = 0
        for term, _ in self.terms:
            sides |= term.sides
        return sides

    @property
    def is_separable(self) -> bool:
        """Whether it is a number of the query side plus a number of the key side."""
        return all(term.sides != BOTH_SIDES for term, _ in self.terms)

    @property
    def num_operations(self) -> int:
        """Sums, products and other operations that evaluating the form takes."""
        inside = [term for term, _ in self.terms if isinstance(term, Operation)]
        return len(self.terms) + sum(operand.num_operations for term in inside for operand in term.operands)

    def variables(self) -> Iterator[Variable]:
        """The variables in it, those inside of operations too; one stands as often as it is written."""
        for term, _ in self.terms:
            match term:
                case Variable():
                    yield term
                case Operation():
                    for operand in term.operands:
                        yield from operand.variables()


def constant(value: int, span: Span) -> Form:
    """A number; raises `BindError` (CM409) for one outside of exact arithmetic."""
    check_number(value, span)
    return Form((), value)


def of_term(term: Term) -> Form:
    """A form that is one term."""
    return Form(((term, 1),), 0)


def check_number(value: int, span: Span) -> None:
    """Raises `BindError` (CM409) for a number outside of exact arithmetic."""
    if not -MAX_NUMBER < value < MAX_NUMBER:
        raise BindError(
            "CM409",
            "this number leaves the range of exact arithmetic, -2^60 to 2^60",
            span,
            "use smaller factors, or divide before multiplying",
        )


def add(left: Form, right: Form, span: Span, factor: int = 1) -> Form:
    """left + factor * right."""
    factors = dict(left.terms)
    for term, times in right.terms:
        factors[term] = factors.get(term, 0) + factor * times
    for times in factors.values():
        check_number(times, span)
    total = left.constant + factor * right.constant
    check_number(total, span)
    return Form(tuple((term, times) for term, times in factors.items() if times), total)


def scale(form: Form, factor: int, span: Span) -> Form:
    """factor * form."""
    return add(Form((), 0), form, span, factor)


def multiply(left: Form, right: Form, span: Span) -> Form:
    """left * right: scaled where one of them is a number, else an operation."""
    if not right.terms:
        return scale(left, right.constant, span)
    if not left.terms:
        return scale(right, left.constant, span)
    return of_term(Operation("*", (left, right), left.sides | right.sides, span))


def divide(operator: Literal["//", "%"], left: Form, right: Form, span: Span) -> Form:
    """Floor division and its remainder."""
    if not right.terms and right.constant == 0:
        raise BindError(
            "CM408", f"the divisor of `{operator}` is 0 for these numbers", span, "bind numbers that keep it from 0"
        )
    if not left.terms and not right.terms:
        quotient, rest = divmod(left.constant, right.constant)
        return Form((), quotient if operator == "//" else rest)
    return of_term(Operation(operator, (left, right), left.sides | right.sides, span))


def extreme(operator: Literal["min", "max"], operands: tuple[Form, ...], span: Span) -> Form:
    """The least or the greatest of the operands; equal operands count once."""
    distinct = tuple(dict.fromkeys(operands))
    if all(not operand.terms for operand in distinct):
        choose = min if operator == "min" else max
        return Form((), choose(operand.constant for operand in distinct))
    if len(distinct) == 1:
        return distinct[0]
    sides = 0
    for operand in distinct:
        sides |= operand.sides
    return of_term(Operation(operator, distinct, sides, span))


def magnitude(operand: Form, span: Span) -> Form:
    """abs(operand), as the greater of the operand and its negative."""
    both = extreme("max", (operand, scale(operand, -1, span)), span)
    if both.num_operations > MAX_OPERATIONS:
        message = f"this `abs` needs more than {MAX_OPERATIONS:,} operations, because each one stands for two numbers"
        raise BindError("CM412", message, span, "nest fewer `abs` in each other")
    return both


def side_part(form: Form, side: int) -> Form:
    """The terms of a separable form that belong to a side; shared instance numbers go with the queries. No constant."""
    wanted = (0, Q_SIDE) if side == Q_SIDE else (K_SIDE,)
    return Form(tuple((term, times) for term, times in form.terms if term.sides in wanted), 0)


def primitive(form: Form) -> tuple[Form, int]:
    """(p, factor) with form = factor * p + constant: p has no constant, coprime factors, and one order and sign of its terms.

    Forms that differ by a factor and a constant have equal primitives.
    """
    terms = sorted(form.terms, key=lambda item: repr(item[0]))
    factor = gcd(*(times for _, times in terms))
    if terms[0][1] < 0:
        factor = -factor
    return Form(tuple((term, times // factor) for term, times in terms), 0), factor


def repeats_modulo(form: Form) -> Form | None:
    """For a % c - b % c the form (a - b) % c, which is 0 for the same numbers; None for other forms."""
    if form.constant or len(form.terms) != 2:
        return None
    (left, one), (right, other) = form.terms
    if not (isinstance(left, Operation) and isinstance(right, Operation) and {one, other} == {1, -1}):
        return None
    if left.operator != "%" or right.operator != "%" or left.operands[1] != right.operands[1]:
        return None
    if left.operands[1].terms:
        return None
    difference = add(left.operands[0], right.operands[0], left.span, -1)
    return divide("%", difference, left.operands[1], left.span) if difference.terms else Form((), 0)
