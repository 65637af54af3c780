"""Tree -> expressions of masks: each call with the mask that it means and a value for each of its parameters."""

from __future__ import annotations

from typing import assert_never

from compilemask.diagnostics import Label
from compilemask.semantics.mask_program import (
    AllMasks,
    AnyMask,
    MaskCall,
    MaskExpression,
    NotMask,
    WholeValue,
    WrittenValue,
)
from compilemask.semantics.masks import Masks
from compilemask.semantics.numbers import number
from compilemask.semantics.parameters import fits
from compilemask.semantics.program import CheckedMask, Expression, Parameter, ParameterType
from compilemask.semantics.references import listed
from compilemask.semantics.report import insert
from compilemask.semantics.scope import Scope
from compilemask.syntax import mask_tree, tree

ArgumentValue = Expression | WholeValue | WrittenValue


def composition(node: mask_tree.MaskExpression, scope: Scope, masks: Masks) -> MaskExpression | None:
    """The expression that `node` is, or None after a message."""
    match node:
        case tree.Missing():
            return None
        case mask_tree.MaskGroup(inner, _):
            return composition(inner, scope, masks)
        case mask_tree.MaskNot(operand, span):
            item = composition(operand, scope, masks)
            return None if item is None else NotMask(item, span)
        case mask_tree.MaskExcept(left, right, span):
            kept, removed = composition(left, scope, masks), composition(right, scope, masks)
            if kept is None or removed is None:
                return None
            return AllMasks((kept, NotMask(removed, right.span)), span)
        case mask_tree.MaskLogic(operator, items, span):
            checked = [composition(item, scope, masks) for item in items]
            known = tuple(item for item in checked if item is not None)
            if len(known) < len(checked):
                return None
            return AllMasks(known, span) if operator == "and" else AnyMask(known, span)
        case mask_tree.MaskCall():
            return _call(node, scope, masks)
        case _:
            assert_never(node)


def _call(node: mask_tree.MaskCall, scope: Scope, masks: Masks) -> MaskCall | None:
    mask = masks.find(node.name, scope.report)
    if mask is None:
        _use_arguments(node, scope)
        return None
    given = _by_name(node, mask, scope)
    missing = [p.name for p in mask.parameters if p.name not in given and p.default is None]
    if missing and len(given) == len(node.arguments):
        hint = f"it is called {signature(mask)}"
        message = f"`{node.name.text}` gets no value for {listed(missing)}"
        fixes = (insert(node.span.stop - 1, f"{', ' if node.arguments else ''}{missing[0]} = "),)
        scope.report.error("CM333", message, node.name.span, hint, *fixes)
    arguments = []
    for parameter in mask.parameters:
        if parameter.name in given:
            value = _value(given[parameter.name], parameter, node, scope)
            if value is not None:
                arguments.append((parameter.name, value))
    if missing or len(arguments) < len(node.arguments):
        return None
    return MaskCall(mask, tuple(arguments), node.span)


def signature(mask: CheckedMask) -> str:
    """`documents(lengths: int[])`, with defaults, for a message."""
    shown = []
    for parameter in mask.parameters:
        default = parameter.default
        text = str(default).lower() if isinstance(default, bool) else str(default)
        if isinstance(default, tuple):
            text = "[..]"
        shown.append(f"{parameter.name}: {parameter.type.value}" + ("" if default is None else f" = {text}"))
    return f"`{mask.name}({', '.join(shown)})`"


def _use_arguments(node: mask_tree.MaskCall, scope: Scope) -> None:
    """Count the parameters in the arguments of a call that cannot be checked as used, and check the numbers in it."""
    for argument in node.arguments:
        value = argument.value
        if isinstance(value, tree.Name):
            scope.used.add(value.text)
        elif not isinstance(value, tree.Written | tree.BoolLiteral):
            number(value, scope)


def _by_name(node: mask_tree.MaskCall, mask: CheckedMask, scope: Scope) -> dict[str, mask_tree.ArgumentNode]:
    """The arguments by the names of the parameters; wrong ones are left out, after a message."""
    given: dict[str, mask_tree.ArgumentNode] = {}
    names = [parameter.name for parameter in mask.parameters]
    named = None
    for place, argument in enumerate(node.arguments):
        if argument.name is None:
            if named is not None:
                labels = (Label(named.span, "given by name"),)
                hint = "arguments without a name come first"
                message = "an argument without a name behind one with a name"
                scope.report.error("CM333", message, argument.span, hint, labels=labels)
                continue
            if place >= len(names):
                message = f"`{node.name.text}` takes {_count(len(names))}, and this is one more"
                scope.report.error("CM333", message, argument.span, f"it is called {signature(mask)}")
                continue
            name = names[place]
        else:
            named = argument
            name = argument.name.text
            if name not in names:
                message = f"`{node.name.text}` has no parameter `{name}`"
                otherwise = f"it is called {signature(mask)}"
                scope.report.unknown("CM333", message, name, argument.name.span, names, otherwise)
                continue
            if name in given:
                labels = (Label(given[name].span, "the first one is here"),)
                message = f"`{name}` gets two values"
                scope.report.error("CM333", message, argument.span, "remove one", labels=labels)
                continue
        given[name] = argument
    return given


def _count(number_of: int) -> str:
    return f"{number_of} argument{'' if number_of == 1 else 's'}"


# ---------------------------------------------------------------- values


def _value(
    argument: mask_tree.ArgumentNode, parameter: Parameter, call: mask_tree.MaskCall, scope: Scope
) -> ArgumentValue | None:
    node = argument.value
    if isinstance(node, tree.Missing):
        return None
    if parameter.type is ParameterType.INT:
        if isinstance(node, tree.Written):
            _wrong(argument, parameter, call, scope, "a list")
            return None
        return number(node, scope)
    if isinstance(node, tree.Name):
        return _whole(node, argument, parameter, call, scope)
    if isinstance(node, tree.BoolLiteral):
        if parameter.type is ParameterType.BOOL:
            return WrittenValue(node.value, node.span)
        _wrong(argument, parameter, call, scope, "true or false")
        return None
    if isinstance(node, tree.Written):
        return _written(node, parameter, call, scope)
    _wrong(argument, parameter, call, scope, "an expression")
    return None


def _whole(
    node: tree.Name, argument: mask_tree.ArgumentNode, parameter: Parameter, call: mask_tree.MaskCall, scope: Scope
) -> WholeValue | None:
    """A list or bool parameter of the caller, passed on as it is."""
    own = scope.parameters.get(node.text)
    if own is None:
        known = [name for name, p in scope.parameters.items() if p.type == parameter.type.value]
        otherwise = f"add a parameter: `{node.text}: {parameter.type.value}`"
        message = f"there is no parameter `{node.text}`"
        scope.report.unknown("CM301", message, node.text, node.span, known, otherwise)
        return None
    scope.used.add(node.text)
    if own.type == parameter.type.value:
        return WholeValue(node.text, node.span)
    if own.type is not None:
        _wrong(argument, parameter, call, scope, f"of type `{own.type}`")
    return None


def _written(node: tree.Written, parameter: Parameter, call: mask_tree.MaskCall, scope: Scope) -> WrittenValue | None:
    wanted = parameter.type.value
    if fits(node, wanted, f"`{parameter.name}` of `{call.name.text}`", "CM333", scope.report):
        return WrittenValue(node.value if node.value is not None else 0, node.span)
    return None


def _wrong(
    argument: mask_tree.ArgumentNode, parameter: Parameter, call: mask_tree.MaskCall, scope: Scope, got: str
) -> None:
    wanted = parameter.type.value
    message = f"`{parameter.name}` of `{call.name.text}` has the type `{wanted}`, and this is {got}"
    hint = "give it a number" if parameter.type is ParameterType.INT else f"pass on a parameter of the type `{wanted}`"
    if parameter.type is not ParameterType.INT:
        hint += ", or write a list, `[3, 4]`" if wanted.endswith("[]") else ", or write `true` or `false`"
    scope.report.error("CM333", message, argument.value.span, hint)
