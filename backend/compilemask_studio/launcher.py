"""`compilemask studio`: start the server, print its link, open a browser where there is one."""

from __future__ import annotations

import argparse
import errno
import gc
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError

from compilemask_studio.db import UnknownTablesError
from compilemask_studio.file_lock import DatabaseInUseError
from compilemask_studio.main import create_app
from compilemask_studio.settings import Settings, is_loopback
from compilemask_studio.studio import WORKER_COMMAND, Studio, open_studio


class StartError(Exception):
    """Why the studio does not start, in words for the terminal."""


class StudioServer(uvicorn.Server):
    """Prints the link once the socket is really served, and ends the event streams before it waits for them."""

    def __init__(self, config: uvicorn.Config, studio: Studio, link: str, open_browser: bool) -> None:
        super().__init__(config)
        self._studio = studio
        self._link = link
        self._open_browser = open_browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(f"CompileMask Studio: {self._link}", flush=True)
            self._studio.presets.start_reading()
            if self._open_browser:
                threading.Thread(target=webbrowser.open, args=(self._link,), daemon=True).start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._studio.broker.close()
        super().handle_exit(sig, frame)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compilemask studio", description="Design, verify and measure masks in the browser."
    )
    parser.add_argument(
        "--host", help="address to listen on; any other than this machine's own needs the token (127.0.0.1)"
    )
    parser.add_argument("--port", type=int, help="port to listen on, 0 for any free one (8000)")
    parser.add_argument(
        "--database", metavar="FILE|URL", help="SQLite file or SQLAlchemy URL (a file in your data folder)"
    )
    parser.add_argument("--token", help="the token of the link, 16 characters or more (a random one when it is needed)")
    parser.add_argument("--no-browser", action="store_true", help="print the link only")
    return parser


def main(argv: Sequence[str] | None = None, *, worker_command: Sequence[str] = WORKER_COMMAND) -> int:
    """Serve until interrupted. Exit code 1 with one plain message when that is not possible.

    worker_command: what measures, a command that speaks `compilemask.bench.protocol`.
    """
    options = build_parser().parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    # uvicorn raises the signal again after an orderly shutdown; what is open here must be closed then.
    signal.signal(signal.SIGTERM, _exit_quietly)
    try:
        settings = read_settings(options)
        listener = listen(settings.host, settings.port)
        with listener, _opened(settings, tuple(worker_command)) as studio:
            _serve(settings, listener, studio, wants_browser(options.no_browser))
    except (StartError, DatabaseInUseError, UnknownTablesError) as error:
        print(f"compilemask studio: {error}", file=sys.stderr)
        return 1
    except SQLAlchemyError as error:
        reason = getattr(error, "orig", None) or error
        print(f"compilemask studio: the database cannot be used: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


@contextmanager
def _opened(settings: Settings, worker_command: tuple[str, ...]) -> Iterator[Studio]:
    """The studio of the settings; StartError when the place of its database cannot be used, or its driver is missing."""
    with ExitStack() as stack:
        try:
            studio = stack.enter_context(open_studio(settings, worker_command))
        except OSError as error:
            place = f" ({error.filename})" if error.filename else ""
            raise StartError(f"the database cannot be used: {error.strerror or error}{place}") from None
        except ModuleNotFoundError as error:
            raise StartError(f"the database cannot be used: its driver, {error.name}, is not installed") from None
        yield studio


def read_settings(options: argparse.Namespace) -> Settings:
    """Options before environment variables. A host given by hand gets a random token; StartError when one is missing."""
    given: dict[str, Any] = {name: getattr(options, name) for name in ("host", "port", "token")}
    given = {name: value for name, value in given.items() if value is not None}
    if options.database is not None:
        given["database_url"] = database_url(options.database)
    if (
        "host" in given
        and not is_loopback(given["host"])
        and not (given.get("token") or os.environ.get("COMPILEMASK_TOKEN"))
    ):
        given["token"] = secrets.token_urlsafe(24)
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise StartError(f"{place}: {message}" if place else message) from None


def database_url(text: str) -> str:
    return text if "://" in text else f"sqlite:///{Path(text).expanduser().absolute()}"


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; StartError when the port belongs to somebody else, or the address is not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    address = host.strip("[]")
    if port and is_loopback(host) and _answers(family, address, port):
        raise StartError(_taken(port))
    # asyncio switches off Nagle's algorithm only where the protocol is given; without that, answers take 40 ms more.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise StartError(_taken(port)) from None
        raise StartError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
    return listener


def wants_browser(no_browser: bool) -> bool:
    """Only a person at a terminal with a display gets a browser window."""
    has_display = sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return not no_browser and sys.stdout.isatty() and has_display


def link(settings: Settings, port: int) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "localhost": "127.0.0.1"}.get(settings.host, settings.host).strip("[]")
    shown = f"[{host}]" if ":" in host else host
    query = f"?token={settings.token}" if settings.token else ""
    return f"http://{shown}:{port}/{query}"


def _serve(settings: Settings, listener: socket.socket, studio: Studio, open_browser: bool) -> None:
    port: int = listener.getsockname()[1]
    if not is_loopback(settings.host):
        print("compilemask studio: other machines can reach this studio; keep its link to yourself", file=sys.stderr)
    app = create_app(settings.model_copy(update={"port": port}), studio=studio)
    # What is loaded by now stays; looking through it for garbage would hold up every answer for a tenth of a second.
    gc.freeze()
    # No access log: it would hold the token of the link.
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=5,
    )
    StudioServer(config, studio, link(settings, port), open_browser).run(sockets=[listener])


def _answers(family: int, address: str, port: int) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(0.5)
        return client.connect_ex((address, port)) == 0


def _taken(port: int) -> str:
    return f"port {port} is in use by another program; give another one with --port, or --port 0 for any free one"


def _exit_quietly(_: int, __: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
