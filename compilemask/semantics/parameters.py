"""Tree -> parameters and examples of the program."""

from __future__ import annotations

from compilemask.diagnostics import Fix, Label, Span
from compilemask.semantics.program import Example, Parameter, ParameterType
from compilemask.semantics.qualifiers import check_per, check_range, check_within, wanted_type
from compilemask.semantics.references import listed
from compilemask.semantics.report import Report, replace
from compilemask.syntax import tree
from compilemask.syntax.limits import MAX_EXAMPLES, MAX_PARAMETERS

_SHAPES = {
    "int": "a number",
    "bool": "`true` or `false`",
    "int[]": "a list, `[3, 4]`",
    "bool[]": "a list, `[true, false]`",
    "int[][]": "a list of lists, `[[3, 4], [5]]`",
    "bool[][]": "a list of lists, `[[true, false], [true]]`",
}
_RENAME = "rename one of them"
_MIXED = "a list of numbers and of `true` and `false`"


def check_parameters(nodes: tuple[tree.ParameterNode, ...], report: Report) -> tuple[Parameter, ...]:
    """The parameters in order; wrong ones are left out, after a message."""
    if len(nodes) > MAX_PARAMETERS:
        hint = "put numbers that belong together into one list"
        report.error(
            "CM217",
            f"a mask may have {MAX_PARAMETERS} parameters, and this is one more",
            nodes[MAX_PARAMETERS].span,
            hint,
        )
    seen: dict[str, Span] = {}
    parameters = []
    for node in nodes[:MAX_PARAMETERS]:
        name = node.name
        report.first_of_name(name.text, name.span, seen, f"there are two parameters `{name.text}`", _RENAME)
        if node.type is None:
            continue
        default = None
        if node.default is not None and fits(node.default, node.type, f"`{name.text}`", "CM311", report):
            default = node.default.value
        ends, per = check_range(node, report), check_per(node, report)
        if default is not None and node.default is not None:
            check_within(default, node, node.default.span, "the default", report)
        parameters.append(Parameter(name.text, ParameterType(node.type), default, node.doc, node.span, *ends, per))
    return tuple(parameters)


def fits(written: tree.Written, wanted: str, what: str, code: str, report: Report) -> bool:
    """Whether a written value has the type `wanted`; else a message (a missing value has had its own)."""
    value = written.value
    if value is None:
        return False
    got = _written_type(value, wanted)
    if got == wanted:
        return True
    fixes: tuple[Fix, ...] = ()
    if wanted == "int[]" and got == "int":
        fixes = (replace(written.span, f"[{value}]"),)
    elif wanted == "bool" and value in (0, 1):
        fixes = (replace(written.span, "true" if value else "false"),)
    report.error(
        code,
        f"{what} has the type `{wanted}`, and this is {_SHAPES.get(got, _MIXED)}",
        written.span,
        f"write {_SHAPES[wanted]}",
        *fixes,
    )
    return False


def _written_type(value: tree.Value, wanted: str) -> str:
    """The type of a written value; of an empty list, `wanted` where that is a list; "mixed" of numbers and bools."""
    if not isinstance(value, tuple):
        return "bool" if isinstance(value, bool) else "int"
    if value and isinstance(value[0], tuple):
        brackets, items = "[][]", [item for row in value if isinstance(row, tuple) for item in row]
    else:
        brackets, items = "[]", [item for item in value if not isinstance(item, tuple)]
    if not items:
        return wanted if wanted.endswith("[]") and wanted.endswith(brackets if value else "[]") else f"int{brackets}"
    kinds = {"bool" if isinstance(item, bool) else "int" for item in items}
    return kinds.pop() + brackets if len(kinds) == 1 else "mixed"


def check_examples(
    nodes: tuple[tree.ExampleNode, ...], parameters: dict[str, tree.ParameterNode], report: Report
) -> tuple[Example, ...]:
    """The examples in order, each with a value for every parameter that has no default."""
    if len(nodes) > MAX_EXAMPLES:
        message = f"a mask may have {MAX_EXAMPLES} examples, and this is one more"
        report.error("CM217", message, nodes[MAX_EXAMPLES].span, "keep those that show something")
    seen: dict[str, Span] = {}
    examples = []
    for node in nodes[:MAX_EXAMPLES]:
        name = node.name
        report.first_of_name(name.text, name.span, seen, f"there are two examples `{name.text}`", _RENAME)
        examples.append(_example(node, parameters, report))
    return tuple(examples)


def _example(node: tree.ExampleNode, parameters: dict[str, tree.ParameterNode], report: Report) -> Example:
    values: dict[str, tree.Value] = {}
    given: dict[str, Span] = {}
    for setting in node.settings:
        name, span = setting.name.text, setting.name.span
        if name not in parameters:
            if name:
                report.unknown("CM312", f"the mask has no parameter `{name}`", name, span, parameters, "remove it")
        elif report.first_of_name(name, span, given, f"`{name}` gets two values", "remove one"):
            value = setting.value.value
            wanted = wanted_type(parameters[name], value)
            if wanted is not None and fits(setting.value, wanted, f"`{name}`", "CM312", report):
                values[name] = value if value is not None else 0
                check_within(values[name], parameters[name], setting.value.span, "this value", report)
    missing = [name for name, parameter in parameters.items() if parameter.default is None and name not in given]
    if missing and len(given) == len(node.settings):
        hint = (
            "give it a value here, or a default in the header"
            if len(missing) == 1
            else "give them values here, or defaults in the header"
        )
        labels = (Label(parameters[missing[0]].span, "has no default"),)
        report.error(
            "CM313", f"this example has no value for {listed(sorted(missing))}", node.name.span, hint, labels=labels
        )
    return Example(node.name.text, tuple(values.items()), node.span)
