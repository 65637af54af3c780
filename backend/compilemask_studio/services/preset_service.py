"""The presets of the library in the shape of the interface."""

from __future__ import annotations

import threading
from functools import cache

from compilemask.presets import preset_names, preset_source
from compilemask_studio.errors import StudioError
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
PAUSE_S = 0.03


@cache
def _places() -> dict[str, tuple[int, str]]:
    """(place in the gallery, family) of each preset."""
    listed = [(name, family) for family, names in FAMILIES for name in names.split()]
    return {name: (place, family) for place, (name, family) in enumerate(listed)}


def family_of(name: str) -> tuple[int, str]:
    """(place, family) of a preset; one that no family lists comes last, among the others."""
    return _places().get(name, (len(_places()), OTHERS))


class PresetService:
    """Every preset with the numbers of its first example and the mask that they give, found out once a server."""

    def __init__(self, compiler: CompileService) -> None:
        self._compiler = compiler
        self._known: dict[str, PresetPublic] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._reader: threading.Thread | None = None

    def start_reading(self) -> None:
        """Find out about all of them in the background, so that the gallery opens at once."""
        self._reader = threading.Thread(target=self._read_all, name="presets", daemon=True)
        self._reader.start()

    def close(self) -> None:
        self._closed.set()
        if self._reader is not None:
            self._reader.join()

    def all(self) -> list[PresetPublic]:
        """Members of a family stand together."""
        names = sorted(preset_names(), key=lambda name: (family_of(name)[0], name))
        return [self.named(name) for name in names]

    def named(self, name: str) -> PresetPublic:
        """StudioError 404 `preset_unknown` when there is no such preset."""
        with self._lock:
            if name not in self._known:
                self._known[name] = self._compiled(name)
            return self._known[name]

    def _read_all(self) -> None:
        for name in preset_names():
            self.named(name)
            # Most of the time is left to those who wait for an answer.
            if self._closed.wait(PAUSE_S):
                return

    def _compiled(self, name: str) -> PresetPublic:
        try:
            source = preset_source(name)
        except ValueError as error:
            raise StudioError(404, "preset_unknown", str(error)) from None
        mask = self._compiler.bind(source, {})
        self._compiler.keep_text(mask)
        # The first line of a preset's documentation is its title.
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
