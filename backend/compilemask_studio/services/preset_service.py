"""The presets of the library in the shape of the interface."""

from __future__ import annotations

from compilemask.presets import preset_names, preset_source
from compilemask_studio.schemas import PresetPublic
from compilemask_studio.services.compile_service import CompileService


def list_presets(compiler: CompileService) -> list[PresetPublic]:
    """Every preset with the numbers of its first example and the mask that they give.

    The first line of a preset's documentation is its title.
    """
    return [_preset_public(compiler, name) for name in preset_names()]


def _preset_public(compiler: CompileService, name: str) -> PresetPublic:
    source = preset_source(name)
    mask = compiler.bind(source, {})
    title, _, doc = mask.doc.partition("\n")
    return PresetPublic(
        name=name,
        title=title.strip() or name,
        doc=doc.strip(),
        source=source,
        values=mask.values,
        hash=mask.descriptor.hash,
        q_len=mask.descriptor.q_len,
        kv_len=mask.descriptor.kv_len,
    )
