"""Diagnostics and programs of the compiler in the shapes of the interface."""

from __future__ import annotations

from compilemask.compiler import MaskProgram
from compilemask.diagnostics import Diagnostic, line_column
from compilemask.semantics.program import Parameter
from compilemask_studio.schemas import (
    DiagnosticPublic,
    EditPublic,
    ExamplePublic,
    FixPublic,
    LabelPublic,
    ParameterPublic,
    ProgramPublic,
    Value,
)
from compilemask_studio.services.utf16 import Utf16Offsets


def json_value(value: int | bool | tuple[int, ...] | list[int]) -> Value:
    return value if isinstance(value, bool | int) else list(value)


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
            ExamplePublic(name=example.name, values={name: json_value(value) for name, value in example.values})
            for example in program.examples
        ],
    )
