"""A pytest plugin that notes each test in a file as soon as it ends, so that a run that is cut short loses none.

    JOURNAL=file.jsonl pytest -p benchmarks.pytest_journal

Tests that passed, or were skipped, according to the file are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "JOURNAL"
_WORST_FIRST = ("failed", "skipped", "passed")


def read(path: Path) -> dict[str, dict[str, Any]]:
    """By the test's id what it last gave: outcome ("left" before it has run), seconds, and the text of what failed."""
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            # The process ended while it wrote this line.
            continue
        if entry["outcome"] != "left" or entry["test"] not in found:
            found[entry["test"]] = entry
    return found


class _Notes:
    """Writes what this process hears of; with several workers that is the process that hands out their tests."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parts: dict[str, list[pytest.TestReport]] = {}

    def expect(self, tests: list[str]) -> None:
        known = read(self._path)
        self._write(*({"test": test, "outcome": "left", "seconds": 0.0} for test in tests if test not in known))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.expect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        del node
        self.expect(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        parts = self._parts.setdefault(report.nodeid, [])
        parts.append(report)
        # A worker that died has told of neither the beginning nor the end.
        if report.when == "teardown" or report.when not in ("setup", "call"):
            self._write(_entry(self._parts.pop(report.nodeid)))

    def _write(self, *entries: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(entry) + "\n" for entry in entries)


def _entry(parts: list[pytest.TestReport]) -> dict[str, Any]:
    outcomes = [part.outcome for part in parts]
    outcome = next(name for name in _WORST_FIRST if name in outcomes)
    entry = {"test": parts[0].nodeid, "outcome": outcome, "seconds": round(sum(part.duration for part in parts), 2)}
    texts = [str(part.longrepr) for part in parts if part.outcome == "failed"]
    return entry | ({"text": texts[0]} if texts else {})


def pytest_configure(config: pytest.Config) -> None:
    """The one process that hears of all tests keeps the journal."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Notes(Path(os.environ[VARIABLE])))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that have passed, or were skipped, by the journal are left out."""
    known = read(Path(os.environ[VARIABLE]))
    done = {test for test, entry in known.items() if entry["outcome"] in ("passed", "skipped")}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in done])
    items[:] = [item for item in items if item.nodeid not in done]


def entries_by_file(path: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The journal's entries, file by file, by name."""
    files: dict[str, list[dict[str, Any]]] = {}
    for test, entry in read(path).items():
        files.setdefault(test.split("::")[0], []).append(entry)
    yield from sorted(files.items())
