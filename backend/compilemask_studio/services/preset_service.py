"""The presets of the library in the shape of the interface."""

from __future__ import annotations

from functools import cache

from compilemask.presets import preset_names, preset_source
from compilemask_studio.schemas import PresetPublic
from compilemask_studio.services.compile_service import CompileService

FAMILIES: tuple[tuple[str, str], ...] = (
    ("Language models", "causal prefix_lm sliding_window streaming local_window left_padded llama4_chunked"),
    (
        "Packed sequences",
        "documents document_full document_sliding shared_prompt shared_prompts in_context jagged_cross",
    ),
    ("Recommendation", "hstu hstu_delta hstu_groups hstu_jagged hstu_window"),
    (
        "Images and video",
        "clear clear_pooled natten_1d natten_2d natten_3d natten_tiled neighborhood sliding_tile svg_spatial radial "
        "video video_teacher_forcing mask_ar var_scales gemma3_image",
    ),
    ("Diffusion and several modalities", "bd3lm dflash transfusion pi0"),
    ("Decoding, caches and trees", "decode paged_causal gappy_keys random_eviction tree_verify rollout_tree jetspec"),
    (
        "Sparse patterns",
        "longformer bigbird strided dilated_window compressed_blocks moba tile_topk vertical_slash",
    ),
    ("Sharded over devices", "zigzag_causal zigzag_rank"),
)
"""What the gallery's masks are for, and which belong there, the plainest first."""
OTHERS = "Others"


@cache
def _places() -> dict[str, tuple[int, str]]:
    """(place in the gallery, family) of each preset."""
    listed = [(name, family) for family, names in FAMILIES for name in names.split()]
    return {name: (place, family) for place, (name, family) in enumerate(listed)}


def family_of(name: str) -> tuple[int, str]:
    """(place, family) of a preset; one that no family lists comes last, among the others."""
    return _places().get(name, (len(_places()), OTHERS))


def list_presets(compiler: CompileService) -> list[PresetPublic]:
    """Every preset with the numbers of its first example and the mask that they give.

    The first line of a preset's documentation is its title. Members of a family stand together.
    """
    names = sorted(preset_names(), key=lambda name: (family_of(name)[0], name))
    return [_preset_public(compiler, name) for name in names]


def _preset_public(compiler: CompileService, name: str) -> PresetPublic:
    source = preset_source(name)
    mask = compiler.bind(source, {})
    title, _, doc = mask.doc.partition("\n")
    return PresetPublic(
        name=name,
        title=title.strip() or name,
        doc=doc.strip(),
        family=family_of(name)[1],
        source=source,
        values=mask.values,
        hash=mask.descriptor.hash,
        q_len=mask.descriptor.q_len,
        kv_len=mask.descriptor.kv_len,
    )
