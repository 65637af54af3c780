"""All parts of one running studio, opened and closed together."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine

from compilemask_studio.db import open_engine, sqlite_file, upgrade
from compilemask_studio.events import EventBroker
from compilemask_studio.file_lock import locked
from compilemask_studio.services.compile_service import CompileService
from compilemask_studio.services.cost_service import CostService
from compilemask_studio.services.diff_service import DiffService
from compilemask_studio.services.environment_service import EnvironmentService
from compilemask_studio.services.executor import LocalExecutor
from compilemask_studio.services.job_service import JobService
from compilemask_studio.services.launch_service import LaunchService
from compilemask_studio.services.plan_service import PlanService
from compilemask_studio.services.preset_service import PresetService
from compilemask_studio.services.rule_service import RuleService
from compilemask_studio.services.run_store import RunStore
from compilemask_studio.settings import Settings

WORKER_COMMAND = (sys.executable, "-m", "compilemask.bench.worker")


@dataclass(frozen=True, slots=True)
class Studio:
    settings: Settings
    engine: Engine
    broker: EventBroker
    compiler: CompileService
    presets: PresetService
    differ: DiffService
    environment: EnvironmentService
    launches: LaunchService
    rules: RuleService
    plans: PlanService
    costs: CostService


@contextmanager
def open_studio(settings: Settings, worker_command: tuple[str, ...]) -> Iterator[Studio]:
    """Lock and upgrade the database, close what an earlier server left, start measuring; undo it all at the end."""
    with ExitStack() as stack:
        engine = open_engine(settings.database_url)
        stack.callback(engine.dispose)
        path = sqlite_file(settings.database_url)
        if path is not None:
            stack.enter_context(locked(path.with_name(path.name + ".lock")))
        upgrade(engine)
        broker = EventBroker()
        store = RunStore(engine, broker)
        store.recover()
        compiler = CompileService()
        jobs = JobService(compiler)
        executor = LocalExecutor(store, jobs.build_job, worker_command, settings.launch_timeout_s)
        environment = EnvironmentService(worker_command)
        environment.refresh()
        stack.callback(environment.close)
        executor.start()
        stack.callback(executor.stop)
        stack.callback(broker.close)
        launches = LaunchService(settings, broker, compiler, environment, executor)
        presets = PresetService(compiler)
        stack.callback(presets.close)
        plans = PlanService()
        yield Studio(
            settings,
            engine,
            broker,
            compiler,
            presets,
            DiffService(compiler),
            environment,
            launches,
            RuleService(compiler),
            plans,
            CostService(plans),
        )
