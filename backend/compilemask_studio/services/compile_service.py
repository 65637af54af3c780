"""Texts to masks, with a memory: what was compiled lately stays reachable by its hash."""

from __future__ import annotations

import base64
import hashlib
import json
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from threading import BoundedSemaphore

from compilemask.compiler import Analysis, analyse
from compilemask.descriptor import MaskDescriptor
from compilemask.diagnostics import Diagnostic, MaskError
from compilemask.export import python_source
from compilemask.lowering import Lowered
from compilemask.preview import density_tile, levels
from compilemask_studio.errors import StudioError
from compilemask_studio.schemas import (
    BatchPlace,
    CompileRequest,
    CompileResult,
    MaskPublic,
    MaskStatistics,
    RegionSpanPublic,
    TileBundle,
    TileCounts,
    TilePlace,
    Timings,
    Values,
)
from compilemask_studio.services.bounded_cache import BoundedCache
from compilemask_studio.services.diagnostic_views import (
    assertions_public,
    diagnostic_public,
    json_values,
    program_public,
)
from compilemask_studio.services.tile_statistics import block_for, tile_counts, too_large
from compilemask_studio.services.utf16 import Utf16Offsets

MAX_REGIONS_SHOWN = 2000
PARALLEL_COMPILES = 2


@dataclass(frozen=True, slots=True)
class BoundMask:
    """A text that compiled: its name and documentation, the numbers bound, and the mask.

    Of a batch it is the first mask, of item 0 and head 0; is_first tells that there are more.
    """

    name: str
    doc: str
    source: str
    values: Values
    descriptor: MaskDescriptor
    is_first: bool


class CompileService:
    """Compiles in the calling thread, two at a time, since more would only slow each other down."""

    def __init__(self) -> None:
        self._masks: BoundedCache[str, MaskDescriptor] = BoundedCache(max_items=64, max_bytes=256_000_000)
        self._tiles: BoundedCache[tuple[str, int, int, int], bytes] = BoundedCache(max_items=1024, max_bytes=64_000_000)
        self._counts: BoundedCache[tuple[str, int, int], TileCounts] = BoundedCache(max_items=256, max_bytes=256)
        self._analyses: BoundedCache[str, Analysis] = BoundedCache(max_items=32, max_bytes=256_000_000)
        self._texts: dict[str, tuple[str, Values]] = {}
        self._slots = BoundedSemaphore(PARALLEL_COMPILES)

    def compile(self, request: CompileRequest) -> CompileResult:
        """Everything the editor shows about one text."""
        with self._slots:
            analysis = self._analyse(request.source, request.values, request.item, request.head)
            offsets = Utf16Offsets(request.source)
            parameters = () if analysis.program is None else analysis.program.parameters
            diagnostics = [diagnostic_public(d, request.source, offsets, parameters) for d in analysis.diagnostics]
            mask, bundle, assertions, start = None, None, [], time.perf_counter()
            if analysis.lowered is not None:
                assertions = assertions_public(analysis.lowered, analysis.diagnostics, request.source, offsets)
                try:
                    tiles = self._tile_counts(analysis.lowered.descriptor, request.block_m, request.block_n)
                except ValueError as reason:
                    diagnostics.append(too_large(reason))
                else:
                    mask = mask_public(analysis.lowered, tiles)
            plan_ms = (time.perf_counter() - start) * 1000
            if mask is not None and analysis.lowered is not None:
                bundle = self._bundle(analysis.lowered.descriptor, request.tiles)
        return CompileResult(
            revision=request.revision,
            program=None if analysis.program is None else program_public(analysis.program),
            values=json_values(analysis.values),
            assumed=list(analysis.assumed),
            diagnostics=diagnostics,
            mask=mask,
            assertions=assertions,
            batch=batch_place(analysis),
            tiles=bundle,
            timings=Timings(check_ms=analysis.check_ms, bind_ms=analysis.bind_ms, plan_ms=plan_ms),
        )

    def bind(self, source: str, values: Values) -> BoundMask:
        """The mask of a text for use outside the editor; StudioError 409 with the first message when it has none."""
        with self._slots:
            analysis = self._analyse(source, values)
        program, lowered = analysis.program, analysis.lowered
        if analysis.failed or lowered is None or program is None:
            raise invalid_mask(analysis.diagnostics)
        bound = json_values(analysis.values)
        is_first = batch_place(analysis) is not None
        return BoundMask(program.name, program.doc, source, bound, lowered.descriptor, is_first)

    def python_module(self, source: str, values: Values) -> tuple[str, str]:
        """(name, text) of a module that rebuilds the mask, all masks of a batch; StudioError 409 as for `bind`."""
        with self._slots:
            analysis = self._analyse(source, values)
            program, lowered = analysis.program, analysis.lowered
            if analysis.failed or lowered is None or program is None:
                raise invalid_mask(analysis.diagnostics)
            try:
                mask = program.bind(**analysis.values) if program.is_batch else lowered.descriptor
            except MaskError as error:
                raise invalid_mask(error.diagnostics) from None
        return program.name, python_source(program.name, source, analysis.values, mask)

    def analysis(self, source: str, values: Values, item: int = 0, head: int = 0) -> Analysis:
        """As it was when this text was last compiled with these numbers; what was forgotten is compiled again."""
        known = self._analyses.get(_key(source, values, item, head))
        if known is not None:
            return known
        with self._slots:
            return self._analyse(source, values, item, head)

    def remember(self, descriptor: MaskDescriptor) -> None:
        """Makes a mask known by its hash."""
        self._masks.put(descriptor.hash, descriptor, descriptor.nbytes)

    def keep_text(self, mask: BoundMask) -> None:
        """This mask can be had by its hash from now on: when it was forgotten, its text is compiled again."""
        self._texts[mask.descriptor.hash] = (mask.source, mask.values)

    def known(self, hash: str) -> MaskDescriptor | None:
        """The mask with this hash, when it was compiled lately or its text was kept."""
        known = self._masks.get(hash)
        if known is None and hash in self._texts:
            return self.bind(*self._texts[hash]).descriptor
        return known

    def tile(self, descriptor: MaskDescriptor, z: int, y: int, x: int) -> bytes:
        """One density tile of 256 x 256 bytes; StudioError 404 outside of the mask's pyramid."""
        if z >= levels(descriptor):
            raise StudioError(404, "tile_unknown", f"this mask has zoom levels 0 to {levels(descriptor) - 1}, not {z}")
        if not has_tile(descriptor, z, y, x):
            raise StudioError(404, "tile_unknown", f"tile {z}/{y}/{x} is outside of the mask")
        key = (descriptor.hash, z, y, x)
        tile = self._tiles.get(key)
        if tile is None:
            tile = density_tile(descriptor, z, y, x).tobytes()
            self._tiles.put(key, tile, len(tile))
        return tile

    def _bundle(self, descriptor: MaskDescriptor, places: Sequence[TilePlace]) -> TileBundle:
        there = [place for place in places if has_tile(descriptor, place.z, place.y, place.x)]
        content = b"".join(self.tile(descriptor, place.z, place.y, place.x) for place in there)
        # The fastest level packs a picture, which is even for the most part, a hundred times.
        return TileBundle(tiles=there, content=base64.b64encode(zlib.compress(content, 1)).decode())

    def _analyse(self, source: str, values: Values, item: int = 0, head: int = 0) -> Analysis:
        analysis = analyse(source, values, item=item, head=head)
        if analysis.lowered is not None:
            descriptor = analysis.lowered.descriptor
            self.remember(descriptor)
            size = lowered_bytes(analysis.lowered)
            bound = json_values(analysis.values)
            for known_by in {_key(source, given, item, head) for given in (values, bound)}:
                self._analyses.put(known_by, analysis, size)
        return analysis

    def _tile_counts(self, descriptor: MaskDescriptor, block_m: int | None, block_n: int | None) -> TileCounts:
        block_m, block_n = block_m or block_for(descriptor.q_len), block_n or block_for(descriptor.kv_len)
        key = (descriptor.hash, block_m, block_n)
        counts = self._counts.get(key)
        if counts is None:
            counts = tile_counts(descriptor, block_m, block_n)
            self._counts.put(key, counts, 1)
        return counts


def _key(source: str, values: Values, item: int, head: int) -> str:
    text = json.dumps([source, values, item, head], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def has_tile(descriptor: MaskDescriptor, z: int, y: int, x: int) -> bool:
    """Whether the mask's pyramid has this tile; an empty mask has one."""
    side = 256 << z
    return z < levels(descriptor) and y * side < max(descriptor.q_len, 1) and x * side < max(descriptor.kv_len, 1)


def batch_place(analysis: Analysis) -> BatchPlace | None:
    """Which mask of a batch was lowered; None where there is only one."""
    if analysis.num_items * analysis.num_heads == 1:
        return None
    return BatchPlace(
        num_items=analysis.num_items, num_heads=analysis.num_heads, item=analysis.item, head=analysis.head
    )


def lowered_bytes(lowered: Lowered) -> int:
    """About what a lowered mask keeps in memory: its arrays, and those of the masks that it is made of."""
    shapes = sum(6 * rule.q_start.nbytes for rule in lowered.rule_shapes)
    inside = sum(lowered_bytes(operand.lowered) for operand in lowered.operands)
    return lowered.descriptor.nbytes + shapes + inside


def invalid_mask(diagnostics: Sequence[Diagnostic]) -> StudioError:
    errors = [message for message in diagnostics if message.severity == "error"]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return StudioError(
        409,
        "mask_invalid",
        f"the mask does not compile: {errors[0].code}: {errors[0].message}{more}",
        errors[0].hint or "correct the text or the numbers first",
    )


def mask_public(lowered: Lowered, tiles: TileCounts) -> MaskPublic:
    descriptor = lowered.descriptor
    shown = max(len(lowered.queries), len(lowered.keys)) <= MAX_REGIONS_SHOWN
    return MaskPublic(
        hash=descriptor.hash,
        levels=levels(descriptor),
        statistics=mask_statistics(descriptor, tiles),
        query_regions=[RegionSpanPublic.model_validate(span) for span in lowered.queries] if shown else [],
        key_regions=[RegionSpanPublic.model_validate(span) for span in lowered.keys] if shown else [],
        regions_shown=shown,
    )


def mask_statistics(descriptor: MaskDescriptor, tiles: TileCounts) -> MaskStatistics:
    return MaskStatistics(
        q_len=descriptor.q_len,
        kv_len=descriptor.kv_len,
        visible_pairs=descriptor.visible_pairs,
        density=descriptor.density,
        pieces=descriptor.num_pieces,
        runs=descriptor.num_runs,
        families=descriptor.num_families,
        runs_per_row_max=descriptor.runs_per_row_max,
        runs_per_row_mean=descriptor.runs_per_row_mean,
        empty_rows=descriptor.empty_rows,
        first_empty_row=descriptor.first_empty_row,
        unseen_keys=descriptor.unseen_keys,
        descriptor_bytes=descriptor.nbytes,
        compact_bytes=descriptor.families().nbytes,
        tiles=tiles,
    )
