"""What route functions receive: the studio itself and one database session a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends, Path, Query, Request
from sqlmodel import Session

from compilemask_studio.studio import Studio


def get_studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio


StudioDep = Annotated[Studio, Depends(get_studio)]


def get_session(studio: StudioDep) -> Iterator[Session]:
    with Session(studio.engine) as session:
        yield session


SessionDep = Annotated[Session, Depends(get_session)]

MaskHash = Annotated[str, Path(max_length=128)]
RowId = Annotated[int, Path(ge=1, le=2**63 - 1)]
PageOffset = Annotated[int, Query(ge=0, le=2**31)]
