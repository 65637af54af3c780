"""Diagnostics and programs of the compiler in the shapes of the interface."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from compilemask.compiler import MaskProgram
from compilemask.diagnostics import Diagnostic, line_column
from compilemask.lowering import Lowered
from compilemask.semantics.program import Parameter
from compilemask.semantics.program import Value as CompilerValue
from compilemask_studio.schemas import (
    AssertionPublic,
    CounterExample,
    DiagnosticPublic,
    EditPublic,
    ExamplePublic,
    FixPublic,
    LabelPublic,
    ParameterPublic,
    ProgramPublic,
    Value,
    Values,
)
from compilemask_studio.services.utf16 import Utf16Offsets


def json_value(value: CompilerValue) -> Value:
    """A bound value with lists in place of tuples."""
    if isinstance(value, bool | int):
        return value
    return cast(Value, [list(item) if isinstance(item, tuple) else item for item in value])


def json_values(values: Mapping[str, CompilerValue]) -> Values:
    return {name: json_value(value) for name, value in values.items()}


ABOUT_NUMBERS = "CM4"
"""How the codes of messages about numbers begin."""


def blamed_parameters(diagnostic: Diagnostic, source: str, parameters: Sequence[Parameter]) -> list[str]:
    """The parameters whose numbers a message is about: the one whose declaration it marks, else all that it marks."""
    if not diagnostic.code.startswith(ABOUT_NUMBERS):
        return []
    marked = source[diagnostic.span.start : diagnostic.span.stop]
    known = {parameter.name for parameter in parameters}
    declared = re.match(r"(\w+)\s*:", marked)
    if declared is not None and declared[1] in known:
        return [declared[1]]
    return list(dict.fromkeys(name for name in re.findall(r"\w+", marked) if name in known))


def diagnostic_public(
    diagnostic: Diagnostic, source: str, offsets: Utf16Offsets, parameters: Sequence[Parameter] = ()
) -> DiagnosticPublic:
    line, column = line_column(source, diagnostic.span.start)
    return DiagnosticPublic(
        code=diagnostic.code,
        severity=diagnostic.severity,
        message=diagnostic.message,
        span=offsets.span(diagnostic.span),
        labels=[LabelPublic(span=offsets.span(label.span), message=label.message) for label in diagnostic.labels],
        hint=diagnostic.hint,
        fixes=[
            FixPublic(
                title=fix.title,
                edits=[EditPublic(span=offsets.span(edit.span), text=edit.text) for edit in fix.edits],
            )
            for fix in diagnostic.fixes
        ],
        line=line,
        column=column,
        parameters=blamed_parameters(diagnostic, source, parameters),
    )


def assertions_public(
    lowered: Lowered, diagnostics: Sequence[Diagnostic], source: str, offsets: Utf16Offsets
) -> list[AssertionPublic]:
    """The assertions of a text in its order, each that does not hold with its message out of the diagnostics."""
    messages = {(message.code, message.span): message.message for message in diagnostics}
    return [
        AssertionPublic(
            text=result.text,
            span=offsets.span(result.span),
            line=line_column(source, result.span.start)[0],
            holds=result.holds,
            message=None if result.holds else messages.get((result.code, result.span)),
            counter_example=None
            if result.counter_example is None
            else CounterExample(q=result.counter_example[0], k=result.counter_example[1]),
            failing_cells=result.failing_cells,
        )
        for result in lowered.assertions
    ]


def parameter_public(parameter: Parameter) -> ParameterPublic:
    return ParameterPublic(
        name=parameter.name,
        type=parameter.type.value,
        default=None if parameter.default is None else json_value(parameter.default),
        doc=parameter.doc,
        minimum=parameter.minimum,
        maximum=parameter.maximum,
        per=parameter.per,
    )


def program_public(program: MaskProgram) -> ProgramPublic:
    return ProgramPublic(
        name=program.name,
        doc=program.doc,
        parameters=[parameter_public(parameter) for parameter in program.parameters],
        examples=[
            ExamplePublic(name=example.name, values=json_values(dict(example.values))) for example in program.examples
        ],
    )
