"""A database in a folder of its own, rows to put into it, and a worker that needs no torch."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from compilemask_studio.db import open_engine, upgrade
from compilemask_studio.events import EventBroker
from compilemask_studio.main import create_app
from compilemask_studio.models import Launch, Run, utc_now
from compilemask_studio.services.executor import LocalExecutor
from compilemask_studio.services.run_store import RunStore
from compilemask_studio.settings import Settings
from fastapi.testclient import TestClient
from sqlalchemy import Engine
from sqlmodel import Session

from compilemask.bench.protocol import CaseSpec, JobSpec

FAKE_WORKER = (sys.executable, "-S", str(Path(__file__).with_name("fake_worker.py")))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = open_engine(f"sqlite:///{tmp_path}/studio.db")
    upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine: Engine) -> RunStore:
    return RunStore(engine, EventBroker())


@pytest.fixture(scope="session")
def worker_command() -> tuple[str, ...]:
    return FAKE_WORKER


@pytest.fixture
def make_run() -> Callable[..., Run]:
    """A run row with plausible columns; any of them can be given."""

    def make(**columns: Any) -> Run:
        row: dict[str, Any] = {
            "launch_id": 1, "name": "causal", "state": "queued", "verdict": "pending", "created_at": utc_now(),
            "mask_name": "causal", "mask_hash": "ab" * 32, "source": "mask causal(n: int)", "values": {"n": 8},
            "q_len": 8, "kv_len": 8, "visible_pairs": 36, "density": 36 / 64, "provider": "passes", "batch": 1,
            "num_q_heads": 4, "num_kv_heads": 2, "head_dim": 16, "dtype": "float32", "seed": 0,
        }  # fmt: skip
        return Run(**(row | columns))

    return make


@pytest.fixture
def add_launch(engine: Engine, make_run: Callable[..., Run]) -> Callable[..., int]:
    """Store a launch with one run for each provider; its id."""

    def add(*providers: str, state: str = "queued") -> int:
        with Session(engine) as session:
            launch = Launch(name="causal", state=state, created_at=utc_now())
            session.add(launch)
            session.flush()
            for provider in providers:
                session.add(make_run(launch_id=launch.id, provider=provider))
            session.commit()
            assert launch.id is not None
            return launch.id

    return add


def job_of(runs: Any) -> JobSpec:
    return JobSpec(
        cases=tuple(CaseSpec(str(run.id), run.provider, "{}", 1, 4, 2, 16, "float32", run.seed) for run in runs)
    )


@pytest.fixture
def start_executor(store: RunStore) -> Iterator[Callable[..., LocalExecutor]]:
    """Start an executor on the test's database; it is stopped at the end of the test."""
    started: list[LocalExecutor] = []

    def start(worker_command: Sequence[str] = FAKE_WORKER, launch_timeout_s: float = 30.0) -> LocalExecutor:
        executor = LocalExecutor(store, job_of, worker_command, launch_timeout_s)
        executor.start()
        started.append(executor)
        return executor

    yield start
    for executor in started:
        executor.stop()


@pytest.fixture
def executor(start_executor: Callable[..., LocalExecutor]) -> LocalExecutor:
    return start_executor()


@pytest.fixture
def wait_until() -> Callable[..., None]:
    """Wait until a condition holds; fail loudly when it does not in time."""

    def wait(condition: Callable[[], bool], timeout_s: float = 15.0) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, "the condition did not come true in time"
            time.sleep(0.02)

    return wait


@pytest.fixture(scope="session")
def shared_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One application for all tests that change nothing; errors of handlers arrive as answers, as for a browser."""
    folder = tmp_path_factory.mktemp("shared")
    settings = Settings(database_url=f"sqlite:///{folder}/app.db", static_dir=folder / "no-ui")
    app = create_app(settings, worker_command=FAKE_WORKER)
    with TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(database_url=f"sqlite:///{tmp_path}/app.db", static_dir=tmp_path / "no-ui")


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    """An application of one test, with the fake worker."""
    app = create_app(settings, worker_command=FAKE_WORKER)
    with TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def add_runs(client: TestClient, settings: Settings, make_run: Callable[..., Run]) -> Callable[..., list[int]]:
    """Store one run for each set of columns; their ids."""

    def add(*rows: dict[str, Any]) -> list[int]:
        engine = open_engine(settings.database_url)
        with Session(engine) as session:
            launch = Launch(name="a launch", state="done", created_at=utc_now())
            session.add(launch)
            session.flush()
            runs = [make_run(launch_id=launch.id, **({"state": "done", "verdict": "passed"} | row)) for row in rows]
            for run in runs:
                session.add(run)
                session.flush()
            session.commit()
            ids = [run.id for run in runs]
        engine.dispose()
        return ids

    return add
