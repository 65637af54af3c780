"""Which rules make a cell visible, or why none does."""

from __future__ import annotations

from compilemask.lowering import Explanation, RuleAnswer
from compilemask_studio.errors import StudioError
from compilemask_studio.schemas import CellExplanation, ExplainRequest, RulePublic
from compilemask_studio.services.compile_service import CompileService, invalid_mask
from compilemask_studio.services.utf16 import Utf16Offsets

MAX_MISSES_SHOWN = 5


def explain(compiler: CompileService, request: ExplainRequest) -> CellExplanation:
    """StudioError 409 when the text does not compile, 404 for a cell outside of the mask.

    Assertions that do not hold are no obstacle. Of a batch it is the mask of the item and head asked for.
    """
    analysis = compiler.analysis(request.source, request.values, request.item, request.head)
    program, lowered = analysis.program, analysis.lowered
    if program is None or lowered is None:
        raise invalid_mask(analysis.diagnostics)
    descriptor = lowered.descriptor
    if request.q >= descriptor.q_len or request.k >= descriptor.kv_len:
        size = f"{descriptor.q_len} queries and {descriptor.kv_len} keys"
        raise StudioError(404, "cell_unknown", f"there is no cell ({request.q}, {request.k}): the mask has {size}")
    answer = program.explain_lowered(lowered, request.q, request.k)
    offsets = Utf16Offsets(request.source)
    answers = answer.matches if answer.visible else answer.misses[:MAX_MISSES_SHOWN]
    return CellExplanation(
        q=answer.q,
        k=answer.k,
        visible=answer.visible,
        q_region=answer.q_region,
        k_region=answer.k_region,
        q_token=None if answer.q_token == answer.q else answer.q_token,
        k_token=None if answer.k_token == answer.k else answer.k_token,
        rules=[_rule(rule, offsets) for rule in answers],
        reason=_reason(answer),
    )


def _rule(answer: RuleAnswer, offsets: Utf16Offsets) -> RulePublic:
    return RulePublic(line=answer.line, span=offsets.span(answer.span), text=answer.text, reason=answer.reason)


def _reason(answer: Explanation) -> str | None:
    if answer.visible:
        return None
    if not answer.misses:
        return "the mask has no rule"
    nearest = answer.misses[0]
    if answer.operands:
        return f"line {nearest.line}, `{nearest.text}`: {nearest.reason}"
    return f"nearest rule, line {nearest.line}, `{nearest.text}`: {nearest.reason}"
