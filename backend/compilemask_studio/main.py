"""The application: settings in, FastAPI out. Nothing here does work; it only joins the parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from compilemask_studio.errors import install_error_handlers
from compilemask_studio.routes import (
    compare,
    compile,
    costs,
    diff,
    environment,
    events,
    explain,
    export,
    language,
    launches,
    masks,
    presets,
    regions,
    rules,
    runs,
    saved_masks,
    text,
)
from compilemask_studio.schemas import ErrorResponse
from compilemask_studio.security import install_guards
from compilemask_studio.settings import Settings
from compilemask_studio.spa import install_spa
from compilemask_studio.studio import WORKER_COMMAND, Studio, open_studio

ROUTE_MODULES = (
    language,
    presets,
    compile,
    explain,
    masks,
    costs,
    rules,
    regions,
    export,
    environment,
    launches,
    runs,
    compare,
    events,
    diff,
    saved_masks,
    text,
)


def _operation_id(route: APIRoute) -> str:
    return f"{route.tags[0]}-{route.name}"


def create_app(
    settings: Settings | None = None,
    *,
    studio: Studio | None = None,
    worker_command: Sequence[str] = WORKER_COMMAND,
) -> FastAPI:
    """The studio's ASGI application.

    settings: read from the environment when not given. studio: one that the caller has opened and will close; without it
    the application opens its own at start. worker_command: what measures, a command that speaks
    `compilemask.bench.protocol`; never taken from a request.
    """
    chosen = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        opened = nullcontext(studio) if studio is not None else open_studio(chosen, tuple(worker_command))
        with opened as app.state.studio:
            yield

    app = FastAPI(
        title="CompileMask Studio",
        version="1",
        lifespan=lifespan,
        generate_unique_id_function=_operation_id,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    api = APIRouter(prefix="/api", responses={"default": {"model": ErrorResponse, "description": "Error"}})
    for module in ROUTE_MODULES:
        api.include_router(module.router)
    app.include_router(api)
    install_error_handlers(app)
    install_guards(app, chosen)
    install_spa(app, chosen.static_dir)
    return app
