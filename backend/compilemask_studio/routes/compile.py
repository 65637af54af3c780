"""Text and numbers in, diagnostics and a mask out."""

from __future__ import annotations

from fastapi import APIRouter

from compilemask_studio.deps import StudioDep
from compilemask_studio.schemas import CompileRequest, CompileResult

router = APIRouter(prefix="/compile", tags=["compile"])


@router.post("")
def compile_mask(body: CompileRequest, studio: StudioDep) -> CompileResult:
    """Compile a text. Mistakes in the text are data: the answer is 200 with diagnostics and `mask` null."""
    return studio.compiler.compile(body)
