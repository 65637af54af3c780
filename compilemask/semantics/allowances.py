"""Tree -> allowances of the program."""

from __future__ import annotations

from compilemask.semantics.assertions import Place
from compilemask.semantics.mask_program import Allowance
from compilemask.semantics.references import References
from compilemask.syntax.limits import MAX_ASSERTIONS
from compilemask.syntax.mask_tree import AllowNode


def check_allowances(nodes: tuple[AllowNode, ...], place: Place) -> tuple[Allowance, ...]:
    """The allowances in order; wrong ones are left out, after a message."""
    if len(nodes) > MAX_ASSERTIONS:
        message = f"a mask may have {MAX_ASSERTIONS} allowances, and this is one more"
        hint = "leave the regions out to allow them all"
        place.scope.report.error("CM217", message, nodes[MAX_ASSERTIONS].span, hint)
    found = []
    for node in nodes[:MAX_ASSERTIONS]:
        references = References(place.scope, place.queries, place.keys)
        targets = references.side(node.regions, "queries" if node.what == "empty queries" else "keys")
        if len(targets) == len(node.regions):
            paths = tuple(target.reference.path for target in targets)
            found.append(Allowance(node.what, paths, node.span))
    return tuple(found)
