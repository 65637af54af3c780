"""The rules of a text as pictures: which cells each of them shows."""

from __future__ import annotations

import hashlib

from compilemask.descriptor import MaskDescriptor
from compilemask.preview import parts_tile
from compilemask_studio.errors import StudioError
from compilemask_studio.schemas import RulePartPublic, RuleParts, RulesRequest
from compilemask_studio.services.bounded_cache import BoundedCache
from compilemask_studio.services.compile_service import CompileService, has_tile, invalid_mask
from compilemask_studio.services.utf16 import Utf16Offsets

Parts = tuple[MaskDescriptor, tuple[MaskDescriptor, ...]]


class RuleService:
    """Remembers the rules that were asked for lately by a key made of their cells."""

    def __init__(self, compiler: CompileService) -> None:
        self._compiler = compiler
        self._parts: BoundedCache[str, Parts] = BoundedCache(max_items=16, max_bytes=256_000_000)
        self._tiles: BoundedCache[tuple[str, int, int, int], bytes] = BoundedCache(max_items=512, max_bytes=34_000_000)

    def rules(self, request: RulesRequest) -> RuleParts:
        """StudioError 409 when the text does not compile; assertions that do not hold are no obstacle."""
        analysis = self._compiler.analysis(request.source, request.values, request.item, request.head)
        program, lowered = analysis.program, analysis.lowered
        if program is None or lowered is None:
            raise invalid_mask(analysis.diagnostics)
        parts = program.rule_parts(lowered)
        whole, cells = lowered.descriptor, tuple(part.cells for part in parts)
        key = hashlib.sha256("\n".join([whole.hash, *(one.hash for one in cells)]).encode()).hexdigest()
        self._parts.put(key, (whole, cells), whole.nbytes + sum(one.nbytes for one in cells))
        for one in cells:
            self._compiler.remember(one)
        offsets = Utf16Offsets(request.source)
        return RuleParts(
            key=key,
            hash=whole.hash,
            parts=[
                RulePartPublic(
                    line=part.line,
                    span=offsets.span(part.span),
                    text=part.text,
                    hash=part.cells.hash,
                    visible_pairs=part.cells.visible_pairs,
                )
                for part in parts
            ],
        )

    def tile(self, key: str, z: int, y: int, x: int) -> bytes:
        """256 x 256 bytes, as `compilemask.preview.parts_tile` makes them; StudioError 404."""
        known = self._parts.get(key)
        if known is None:
            raise StudioError(
                404, "rules_unknown", "the server does not know these rules any more", "ask for them again"
            )
        whole, parts = known
        if not has_tile(whole, z, y, x):
            raise StudioError(404, "tile_unknown", f"tile {z}/{y}/{x} is outside of the mask")
        place = (key, z, y, x)
        tile = self._tiles.get(place)
        if tile is None:
            tile = parts_tile(whole, parts, z, y, x).tobytes() if parts else bytes(256 * 256)
            self._tiles.put(place, tile, len(tile))
        return tile
