"""A form taken apart: separable sub-forms become quantities, and the rest is arithmetic on those."""

from __future__ import annotations

from dataclasses import dataclass, field

from compilemask.lowering.forms import BOTH_SIDES, K_SIDE, Form, Operation, Term, Variable, add, primitive
from compilemask.lowering.items import counts_tokens


@dataclass(frozen=True, slots=True)
class Quantities:
    """skeleton: the form, with Variable("quantity", axis=n) in place of the separable form parts[n] (no constants)."""

    skeleton: Form
    parts: tuple[Form, ...]


@dataclass(slots=True)
class _Collector:
    q_rank: int
    k_rank: int
    split: bool
    parts: list[Form] = field(default_factory=list)

    def abstract(self, form: Form) -> Form:
        separable = [(term, times) for term, times in form.terms if term.sides != BOTH_SIDES]
        result = Form((), form.constant)
        for group in self._groups(separable):
            part, factor = primitive(Form(tuple(group), 0))
            if part not in self.parts:
                self.parts.append(part)
            number = self.parts.index(part)
            result = Form((*result.terms, (Variable(0, "quantity", _shown(part), number), factor)), result.constant)
        for term, times in form.terms:
            if isinstance(term, Operation) and term.sides == BOTH_SIDES:
                operands = tuple(self.abstract(operand) for operand in term.operands)
                abstracted = Operation(term.operator, operands, 0, term.span, term.list_name)
                result = add(result, Form(((abstracted, times),), 0), term.span)
        return result

    def _groups(self, terms: list[tuple[Term, int]]) -> list[list[tuple[Term, int]]]:
        if not self.split:
            return [terms] if terms else []
        outer = [item for item in terms if not self._changes(item[0])]
        inner = [item for item in terms if self._changes(item[0])]
        return [group for group in (outer, inner) if group]

    def _changes(self, term: Term) -> bool:
        rank = self.k_rank if term.sides == K_SIDE else self.q_rank
        return any(counts_tokens(variable, rank) for variable in Form(((term, 1),), 0).variables())


def _shown(part: Form) -> str:
    """How messages call a part that is a sum of few variables; "" for others, which no text writes."""
    words = ""
    for term, factor in sorted(part.terms, key=lambda item: item[1] < 0):
        if not isinstance(term, Variable) or len(part.terms) > 2:
            return ""
        times = term.shown if abs(factor) == 1 else f"{abs(factor)} * {term.shown}"
        sign = "-" if factor < 0 else "+"
        words += f" {sign} {times}" if words else ("-" if factor < 0 else "") + times
    return words


def quantities_of(form: Form, q_rank: int, k_rank: int) -> Quantities:
    """As one quantity if the form allows it; else with the parts that are constant in lines apart from those that are not."""
    whole = _Collector(q_rank, k_rank, split=False)
    skeleton = whole.abstract(form)
    if len(whole.parts) == 1:
        return Quantities(skeleton, tuple(whole.parts))
    parted = _Collector(q_rank, k_rank, split=True)
    skeleton = parted.abstract(form)
    return Quantities(skeleton, tuple(parted.parts))
