"""Tilings of a mask and what they cost, addressed by its content hash."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BeforeValidator

from compilemask_studio.deps import MaskHash, PageOffset, SessionDep, StudioDep
from compilemask_studio.schemas import BlockSize, FormatSizes, MaskCost, QTile, QTilesOfRows, QTileTable
from compilemask_studio.services import mask_service

router = APIRouter(prefix="/masks/{hash}", tags=["masks"])


def _number(text: object) -> object:
    """A query parameter is text, and a literal number is none."""
    return int(text) if isinstance(text, str) and text.isdecimal() else text


Block = Annotated[BlockSize, BeforeValidator(_number), Query()]


@router.get("/cost")
def read_cost(
    hash: MaskHash,
    studio: StudioDep,
    session: SessionDep,
    block_m: Block = 128,
    block_n: Block = 64,
    num_heads: Annotated[int, Query(ge=1, le=2**20)] = 16,
    head_dim: Annotated[int, Query(ge=1, le=1024)] = 128,
) -> MaskCost:
    """Pairs, predicted and measured time, and advice."""
    descriptor = mask_service.find_mask(studio.compiler, session, hash)
    return studio.costs.cost(session, descriptor, block_m, block_n, num_heads, head_dim)


@router.get("/formats")
def read_formats(
    hash: MaskHash, studio: StudioDep, session: SessionDep, block_m: Block = 128, block_n: Block = 64
) -> FormatSizes:
    """Bytes of the mask in every format that it is compared with."""
    descriptor = mask_service.find_mask(studio.compiler, session, hash)
    return studio.costs.sizes(descriptor, block_m, block_n)


@router.get("/q-tiles")
def read_q_tiles(
    hash: MaskHash,
    studio: StudioDep,
    session: SessionDep,
    block_m: Block = 128,
    block_n: Block = 64,
    offset: PageOffset = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> QTileTable:
    """The q tiles of the cheaper tiling, by number, paged."""
    descriptor = mask_service.find_mask(studio.compiler, session, hash)
    return studio.plans.table(descriptor, block_m, block_n, offset, limit)


@router.get("/q-tiles/{number}")
def read_q_tile(
    hash: MaskHash,
    number: Annotated[int, Path(ge=0)],
    studio: StudioDep,
    session: SessionDep,
    block_m: Block = 128,
    block_n: Block = 64,
) -> QTile:
    """The rows of one q tile and the key tiles that it reads."""
    descriptor = mask_service.find_mask(studio.compiler, session, hash)
    return studio.plans.tile(descriptor, block_m, block_n, number)


@router.get("/q-tiles-of-rows")
def read_q_tiles_of_rows(
    hash: MaskHash,
    studio: StudioDep,
    session: SessionDep,
    block_m: Block = 128,
    block_n: Block = 64,
    start: Annotated[int, Query(ge=0, le=2**40)] = 0,
    step: Annotated[int, Query(ge=1, le=2**40)] = 1,
) -> QTilesOfRows:
    """The q tile of each of 256 rows, `step` apart."""
    descriptor = mask_service.find_mask(studio.compiler, session, hash)
    return studio.plans.of_rows(descriptor, block_m, block_n, start, step)
