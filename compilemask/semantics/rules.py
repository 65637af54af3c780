"""Tree -> one rule of the program."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from compilemask.diagnostics import Span
from compilemask.semantics.conditions import condition
from compilemask.semantics.program import Rule
from compilemask.semantics.references import References
from compilemask.semantics.scope import Scope, Sides
from compilemask.syntax import tree


def check_rule(node: tree.RuleNode, scope: Scope, references: References) -> Rule | None:
    """The rule that `node` is, or None after a message."""
    queries = references.side(node.queries, "queries")
    keys = references.side(node.keys, "keys")
    inner = scope.place(scope.indices, Sides(queries, keys))
    whole = len(queries) == len(node.queries) and len(keys) == len(node.keys)
    checked = None
    if node.condition is not None:
        checked = condition(node.condition, inner) if whole else None
        if checked is None:
            if not whole:
                _use_names(node.condition, scope)
            return None
    if not whole:
        return None
    return Rule(
        tuple(target.reference for target in queries),
        tuple(target.reference for target in keys),
        checked,
        node.span,
        node.doc,
    )


def _use_names(node: object, scope: Scope) -> None:
    """Count the parameters of a condition that cannot be checked as used."""
    if isinstance(node, tree.Name):
        scope.used.add(node.text)
    elif isinstance(node, tuple):
        for item in node:
            _use_names(item, scope)
    elif is_dataclass(node) and not isinstance(node, Span):
        for item in fields(node):
            _use_names(getattr(node, item.name), scope)
