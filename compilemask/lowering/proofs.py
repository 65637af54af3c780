"""Claims that hold whatever the numbers are, seen from the text alone: nothing is worked out for them at a bind."""

from __future__ import annotations

from itertools import product

from compilemask.semantics.program import Compare, Condition, InstanceIndex, RegionReference, Rule


def never_seen_by_text(claim: Rule, rules: tuple[Rule, ...]) -> bool:
    """Whether no rule can make a cell of the claim visible, for any numbers; False also where this does not see it.

    Of each rule it suffices that its queries, or its keys, are other regions than the claim's; or that the claim wants two
    different instances, `i != j`, where the rule has one instance on both sides.
    """
    return all(
        _apart(q, k, claim.condition, rule_q, rule_k)
        for q, k in product(claim.queries, claim.keys)
        for rule in rules
        for rule_q, rule_k in product(rule.queries, rule.keys)
    )


def _apart(
    q: RegionReference,
    k: RegionReference,
    condition: Condition | None,
    rule_q: RegionReference,
    rule_k: RegionReference,
) -> bool:
    if not (_share_tokens(q.path, rule_q.path) and _share_tokens(k.path, rule_k.path)):
        return True
    match condition:
        case Compare("!=", InstanceIndex(left), InstanceIndex(right)):
            return _one_instance(q, k, left, right, rule_q, rule_k) or _one_instance(q, k, right, left, rule_q, rule_k)
        case _:
            return False


def _share_tokens(path: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one region is the other, or a part of it: no token is in two regions otherwise."""
    return all(name == other_name for name, other_name in zip(path, other, strict=False))


def _one_instance(
    q: RegionReference, k: RegionReference, q_name: str, k_name: str, rule_q: RegionReference, rule_k: RegionReference
) -> bool:
    """Whether the instances that the claim calls q_name and k_name are one and the same in the rule.

    Repeated regions are listed from the outermost, so that those of nested regions begin alike.
    """
    if q_name not in q.indices or k_name not in k.indices:
        return False
    q_level, k_level = q.indices.index(q_name), k.indices.index(k_name)
    if q_level >= len(rule_q.indices) or k_level >= len(rule_k.indices):
        return False
    return rule_q.indices[q_level] == rule_k.indices[k_level]
