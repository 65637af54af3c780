"""Diagnostics and programs of the compiler in the shapes of the interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from compilemask.compiler import MaskProgram
from compilemask.diagnostics import Diagnostic, line_column
from compilemask.lowering import is_list
from compilemask.semantics.program import Parameter
from compilemask.semantics.program import Value as CompilerValue
from compilemask_studio.schemas import (
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
    if isinstance(value, bool | int):
        return value
    return cast(Value, [list(item) if isinstance(item, tuple) else item for item in value])


def form_value(parameter: Parameter, value: CompilerValue) -> Value:
    """A value as the form beside the text holds it: one value; where items or heads differ, that of the first."""
    if parameter.per is not None and isinstance(value, tuple) and is_list(parameter, value):
        return json_value(value[0])
    return json_value(value)


def form_values(program: MaskProgram, values: Mapping[str, CompilerValue]) -> Values:
    """The values of a program's parameters as the form holds them."""
    return {p.name: form_value(p, values[p.name]) for p in program.parameters if p.name in values}


def diagnostic_public(diagnostic: Diagnostic, source: str, offsets: Utf16Offsets) -> DiagnosticPublic:
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
    )


def parameter_public(parameter: Parameter) -> ParameterPublic:
    default = None if parameter.default is None else json_value(parameter.default)
    return ParameterPublic(name=parameter.name, type=parameter.type.value, default=default, doc=parameter.doc)


def program_public(program: MaskProgram) -> ProgramPublic:
    return ProgramPublic(
        name=program.name,
        doc=program.doc,
        parameters=[parameter_public(parameter) for parameter in program.parameters],
        examples=[
            ExamplePublic(name=example.name, values=form_values(program, dict(example.values)))
            for example in program.examples
        ],
    )
