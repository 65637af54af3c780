"""A checked mask plus numbers to the set of visible cells (docs/architecture.md, Lowering)."""

from compilemask.lowering.batch_messages import batch_messages
from compilemask.lowering.batches import BatchValues, batch_values, is_list, lower_batch, shown_warnings
from compilemask.lowering.claims import AssertionResult
from compilemask.lowering.failed_claims import assertion_failures
from compilemask.lowering.lower import Lowered, RegionSpan, lower
from compilemask.lowering.operands import OperandAnswer
from compilemask.lowering.provenance import Explanation, RuleAnswer, explain
from compilemask.lowering.rule_parts import RulePart, rule_parts
from compilemask.lowering.values import bind_values, sample
from compilemask.lowering.warnings import bind_warnings
from compilemask.semantics.program import Value

__all__ = [
    "AssertionResult",
    "BatchValues",
    "Explanation",
    "Lowered",
    "OperandAnswer",
    "RegionSpan",
    "RuleAnswer",
    "RulePart",
    "Value",
    "assertion_failures",
    "batch_messages",
    "batch_values",
    "bind_values",
    "bind_warnings",
    "explain",
    "is_list",
    "lower",
    "lower_batch",
    "rule_parts",
    "sample",
    "shown_warnings",
]
