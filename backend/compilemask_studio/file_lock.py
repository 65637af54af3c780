"""One server for one database file: two would each take the other's running launches for leftovers."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class DatabaseInUseError(Exception):
    """Another process holds the database."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`; DatabaseInUseError when another process has it. It ends with the process, too."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 40).decode("ascii", "replace").strip()
            who = f"process {holder}" if holder.isdecimal() else "another process"
            database = path.with_suffix("")
            raise DatabaseInUseError(
                f"another studio ({who}) already uses {database}; open that one, or give this one --database"
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)
