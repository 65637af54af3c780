"""Settings of the studio, from arguments or from environment variables that begin with COMPILEMASK_."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MIN_TOKEN_CHARS = 16


def data_folder() -> Path:
    """Where a user's data lives: $XDG_DATA_HOME/compilemask, else ~/.local/share/compilemask."""
    base = os.environ.get("XDG_DATA_HOME", "")
    root = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share"
    return root / "compilemask"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Settings(BaseSettings):
    """database_url: SQLAlchemy URL. token: needed when `host` is not loopback; sent once in the link, then a cookie."""

    model_config = SettingsConfigDict(env_prefix="COMPILEMASK_", env_ignore_empty=True, frozen=True)

    database_url: str = Field(default_factory=lambda: f"sqlite:///{data_folder() / 'studio.db'}")
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    token: Annotated[str, Field(min_length=MIN_TOKEN_CHARS, pattern=r"^[A-Za-z0-9_-]+$")] | None = None
    static_dir: Path = Path(__file__).parent / "_static"
    max_body_bytes: int = 4 * 1024**2
    max_queued_launches: int = 50
    launch_timeout_s: float = 1800.0
    memory_limit_bytes: int | None = None

    @model_validator(mode="after")
    def _needs_token(self) -> Settings:
        if self.token is None and not is_loopback(self.host):
            raise ValueError(
                f"listening on {self.host} lets other machines in, so a token is needed: "
                f"start with `compilemask studio --host {self.host}`, which makes one, or set COMPILEMASK_TOKEN"
            )
        return self
