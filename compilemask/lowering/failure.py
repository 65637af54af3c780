"""How a pass of the lowering reports what is wrong with a binding."""

from __future__ import annotations

from compilemask.diagnostics import Diagnostic, Label, Span


class BindError(Exception):
    """Carries one diagnostic from the depth of a pass to `lower`, which makes a `MaskError` of it."""

    def __init__(
        self, code: str, message: str, span: Span, hint: str | None = None, labels: tuple[Label, ...] = ()
    ) -> None:
        self.diagnostic = Diagnostic(code=code, severity="error", message=message, span=span, labels=labels, hint=hint)
        super().__init__(message)
