"""Texts to masks: the only place where the passes are chained."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.diagnostics import Diagnostic, MaskError
from compilemask.lowering import (
    Explanation,
    Lowered,
    RulePart,
    Value,
    assertion_failures,
    batch_messages,
    batch_values,
    bind_values,
    bind_warnings,
    explain,
    lower,
    lower_batch,
    rule_parts,
    sample,
    shown_warnings,
)
from compilemask.presets import preset_names, preset_source
from compilemask.semantics import CheckedMask, Library, check
from compilemask.semantics.program import Example, Parameter, ParameterType
from compilemask.syntax import parse

GUESSES: Mapping[ParameterType, Value] = {
    ParameterType.INT: 64,
    ParameterType.BOOL: False,
    ParameterType.INT_LIST: (16, 24, 8),
    ParameterType.BOOL_LIST: (True, False, True),
    ParameterType.INT_TABLE: ((16, 24), (8,)),
    ParameterType.BOOL_TABLE: ((True, False), (True, True)),
}
"""What a tool shows for a parameter about which the text says nothing."""


@cache
def _preset(name: str) -> CheckedMask:
    source = preset_source(name)
    checked, messages = check(parse(source)[0], source, PRESETS)
    if checked is None:
        raise MaskError(messages, source, f"{name}.mask")
    return checked


PRESETS = Library(preset_names(), _preset)
"""Every text may call the presets by their names; each is checked when it is first called."""


@dataclass(frozen=True)
class MaskProgram:
    """A mask text that was checked once and can be bound to numbers any number of times.

    name, doc, parameters, examples: what the text declares. warnings: messages that are no errors. filename: for messages.
    """

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    examples: tuple[Example, ...]
    source: str
    warnings: tuple[Diagnostic, ...]
    filename: str
    _checked: CheckedMask = field(repr=False)

    @property
    def is_batch(self) -> bool:
        """Whether some parameter is declared `per item` or `per head`, so that `bind` returns a MaskBatch."""
        return any(parameter.per is not None for parameter in self.parameters)

    def bind(self, /, **values: object) -> MaskDescriptor | MaskBatch:
        """The mask for these numbers; parameters left out take their defaults.

        A MaskDescriptor, or a MaskBatch if a parameter is declared `per item` or `per head`, whatever its value is: such
        a parameter takes one value for all, or a sequence with one value for each item or query head.

        int parameters take integers, bool parameters bool, int[] and bool[] parameters sequences or one-dimensional
        arrays of them, int[][] and bool[][] parameters sequences of those or two-dimensional arrays.
        Raises `MaskError` with everything that is wrong: missing, unknown, ill-typed, negative, too large; and with the
        assertions of the text that do not hold.
        """
        if self.is_batch:
            return lower_batch(self._checked, values, self.filename)
        lowered = self.lower(**values)
        failures = self.assertion_failures(lowered)
        if failures:
            raise MaskError(failures, self.source, self.filename)
        return lowered.descriptor

    def lower(self, /, **values: object) -> Lowered:
        """As `bind`, with the places of the regions, the cells of each rule and the results of the assertions.

        An assertion that does not hold does not raise here, so that tools can show the cell that breaks it. One mask
        only: `values_of` gives the values of one item and head of a batch.
        """
        return lower(self._checked, values, self.filename)

    def values_of(self, item: int, head: int, /, **values: object) -> dict[str, Value]:
        """The values of the mask of one item and head, for `lower` and `explain`. ValueError for one that is not there."""
        return batch_values(self._checked, values, self.filename).at(item, head)

    def explain(self, /, q: int, k: int, **values: object) -> Explanation:
        """Which rules make the cell (q, k) visible, or why none does. ValueError for a cell outside of the mask."""
        return explain(self._checked, self.lower(**values), q, k)

    def explain_lowered(self, lowered: Lowered, q: int, k: int) -> Explanation:
        """As `explain`, for numbers that are bound already: many cells of one mask."""
        return explain(self._checked, lowered, q, k)

    def rule_parts(self, lowered: Lowered) -> tuple[RulePart, ...]:
        """The cells that each rule shows, or of a mask made of masks each called mask, in the order of the text."""
        return rule_parts(self._checked, lowered)

    def assertion_failures(self, lowered: Lowered) -> tuple[Diagnostic, ...]:
        """One error for each assertion that does not hold for these numbers."""
        return assertion_failures(self._checked, lowered)

    def bind_warnings(self, lowered: Lowered) -> tuple[Diagnostic, ...]:
        """What the numbers make of the mask that is seldom meant: empty queries, unseen keys, rules without a cell."""
        return bind_warnings(self._checked, lowered)

    def example(self, name: str | None = None) -> dict[str, Value]:
        """The values of an example of the text, the first one by default. ValueError when there is none of that name."""
        if not self.examples:
            raise ValueError(f"mask `{self.name}` has no example; add `example small({_template(self.parameters)})`")
        if name is None:
            return dict(self.examples[0].values)
        for example in self.examples:
            if example.name == name:
                return dict(example.values)
        known = ", ".join(example.name for example in self.examples)
        raise ValueError(f"mask `{self.name}` has no example `{name}`; it has {known}")


@dataclass(frozen=True)
class Analysis:
    """Everything that tools show about a text and numbers.

    program: None when the text has an error. values: the numbers bound; assumed: those of them that were guessed.
    diagnostics: all messages, errors and warnings, in the order of the text. lowered: None when there is an error, unless
    all errors are assertions that do not hold; failed tells whether there is any error.
    check_ms, bind_ms: milliseconds for the text and for the numbers. num_items, num_heads: of the batch that the values
    give, 1 without one; item, head: the mask of it that was lowered; num_masks: different masks in it. Messages are about
    all of them, up to MAX_ANALYSED_MASKS, and name the first item and head that they are about if that is another one.
    """

    program: MaskProgram | None
    values: Mapping[str, Value]
    assumed: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    lowered: Lowered | None
    check_ms: float
    bind_ms: float
    num_items: int = 1
    num_heads: int = 1
    item: int = 0
    head: int = 0
    num_masks: int = 1

    @property
    def failed(self) -> bool:
        """Whether there is an error, so that `compile` or `bind` would raise."""
        return any(message.severity == "error" for message in self.diagnostics)


def compile(source: str, *, filename: str = "<mask>") -> MaskProgram:
    """Checks a mask text. Raises `MaskError` with all errors of the text; filename: how they name it."""
    if not isinstance(source, str):
        raise TypeError(
            f"compile takes the text of a mask, got {type(source).__name__}; "
            "write its rule as text, for example `S sees S causal`"
        )
    program, messages = _check(source, filename)
    if program is None:
        raise MaskError([message for message in messages if message.severity == "error"], source, filename)
    return program


def analyse(
    source: str, values: Mapping[str, object] | None = None, *, filename: str = "<mask>", item: int = 0, head: int = 0
) -> Analysis:
    """Checks a text and binds it, for tools: whatever is wrong with text or values is in the diagnostics, never raised.

    Of a batch one mask is lowered, and a warning says which: that of the item and head asked for, or of the last one
    where there are fewer, since a batch may shrink while somebody looks at it.
    Values that are enough for `bind` are bound as they are. Otherwise those left out are taken from the first example,
    else from the defaults, else guessed by type.
    """
    start = time.perf_counter()
    program, messages = _check(source, filename)
    checked_at = time.perf_counter()
    check_ms = (checked_at - start) * 1000
    if program is None:
        return Analysis(None, {}, (), messages, None, check_ms, 0.0)
    completed, assumed = _completed(program, values or {})
    lowered, batch, place, num_masks = None, None, (0, 0), 1
    try:
        batch = batch_values(program._checked, completed, filename)
        place = _within(item, batch.num_items), _within(head, batch.num_heads)
        lowered = program.lower(**batch.at(*place))
        about = (*program.assertion_failures(lowered), *program.bind_warnings(lowered))
        others = batch_messages(program._checked, batch, *place, lowered, about)
        num_masks = others.num_masks
        looked_at = others.num_looked_at if others.num_looked_at < num_masks else None
        messages = (*messages, *others.shown, *others.messages)
        messages = (*messages, *shown_warnings(program._checked, batch, *place, looked_at))
    except MaskError as error:
        messages = (*messages, *error.diagnostics)
    bind_ms = (time.perf_counter() - checked_at) * 1000
    bound = bind_values(program._checked, completed, spread=True)[0]
    size = (1, 1) if batch is None else (batch.num_items, batch.num_heads)
    return Analysis(program, bound, assumed, _in_order(messages), lowered, check_ms, bind_ms, *size, *place, num_masks)


def _within(number: int, size: int) -> int:
    if number < 0:
        raise ValueError(f"item and head are counted from 0, got {number}")
    return min(number, size - 1)


def _check(source: str, filename: str) -> tuple[MaskProgram | None, tuple[Diagnostic, ...]]:
    tree, syntax_messages = parse(source)
    checked, semantic_messages = check(tree, source, PRESETS)
    messages = _in_order((*syntax_messages, *semantic_messages))
    if checked is None or any(message.severity == "error" for message in messages):
        return None, messages
    program = MaskProgram(
        checked.name, checked.doc, checked.parameters, checked.examples, source, messages, filename, checked
    )
    return program, messages


def _in_order(messages: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(messages, key=lambda message: (message.span.start, message.span.stop, message.code)))


def _completed(program: MaskProgram, values: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    """The given values and one for every parameter that has none, and which of those were guessed."""
    completed = dict(values)
    if all(parameter.default is not None or parameter.name in values for parameter in program.parameters) and values:
        return completed, ()
    example = dict(program.examples[0].values) if program.examples else {}
    assumed = []
    for parameter in program.parameters:
        if parameter.name in completed:
            continue
        if parameter.name in example:
            completed[parameter.name] = example[parameter.name]
        elif parameter.default is None:
            completed[parameter.name] = _guess(parameter)
            assumed.append(parameter.name)
    return completed, tuple(assumed)


def _guess(parameter: Parameter) -> Value:
    guess = GUESSES[parameter.type]
    if isinstance(guess, bool) or (parameter.minimum is None and parameter.maximum is None):
        return guess

    def within(number: int) -> int:
        least = number if parameter.minimum is None else max(number, parameter.minimum)
        return least if parameter.maximum is None else min(least, parameter.maximum)

    if isinstance(guess, int):
        return within(guess)
    return tuple(within(item) if isinstance(item, int) else tuple(map(within, item)) for item in guess)  # type: ignore[return-value]


def _template(parameters: tuple[Parameter, ...]) -> str:
    return ", ".join(f"{parameter.name} = {sample(parameter.type)}" for parameter in parameters)
