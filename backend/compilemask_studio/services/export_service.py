"""Files to take away."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col

from compilemask_studio.models import Run
from compilemask_studio.schemas import ExportRequest, RunExport, RunPublic
from compilemask_studio.services.compile_service import CompileService
from compilemask_studio.services.run_query import filtered
from compilemask_studio.services.run_service import parse_ids, runs_of
from compilemask_studio.services.views import run_public

MAX_EXPORTED_RUNS = 10_000
MAX_EXPORTED_IDS = 1000


@dataclass(frozen=True, slots=True)
class ExportFile:
    name: str
    media_type: str
    text: str


def python_module(compiler: CompileService, request: ExportRequest) -> ExportFile:
    """A Python module that rebuilds the mask; StudioError 409 when the text does not compile."""
    name, text = compiler.python_module(request.source, request.values)
    return ExportFile(f"{name}.py", "text/x-python", text)


def runs_file(session: Session, query: RunExport) -> ExportFile:
    """The newest 10,000 runs of the filter, newest first; with `ids` these runs, in their order."""
    if query.ids is not None:
        runs = [run_public(run) for run in runs_of(session, parse_ids(query.ids, MAX_EXPORTED_IDS))]
    else:
        rows = filtered(query).order_by(col(Run.id).desc()).limit(MAX_EXPORTED_RUNS)
        runs = [run_public(run) for run in session.exec(rows)]
    match query.format:
        case "json":
            text = json.dumps([run.model_dump(mode="json") for run in runs], indent=1, allow_nan=False)
            return ExportFile("runs.json", "application/json", text)
        case "csv":
            return ExportFile("runs.csv", "text/csv; charset=utf-8", runs_csv(runs))


def runs_csv(runs: list[RunPublic]) -> str:
    """One line a run. NaN and infinities stand in their own columns as words."""
    output = io.StringIO()
    names = [name for name in RunPublic.model_fields if name not in ("error_text", "nonfinite")]
    writer = csv.writer(output, lineterminator="\r\n")
    writer.writerow(names)
    for run in runs:
        row = run.model_dump(mode="json")
        writer.writerow([_cell(run.nonfinite.get(name, row[name])) for name in names])
    return output.getvalue()


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: text that begins like one gets an apostrophe in front."""
    if value is None or isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    is_formula = text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") and text != "-Infinity"
    return "'" + text if is_formula else text
