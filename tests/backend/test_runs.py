"""The runs table: filtered, sorted and paged by the server; renamed, archived, exported, compared."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from compilemask_studio.db import open_engine
from compilemask_studio.models import Run, utc_now
from compilemask_studio.schemas import RunSort
from fastapi.testclient import TestClient
from sqlmodel import Session

AddRuns = Callable[..., list[int]]


def change(client: TestClient, action: str, *ids: int, **more: object) -> list[int]:
    response = client.post("/api/runs/change", json={"ids": ids, "action": action} | more)
    assert response.status_code == 200, response.text
    return response.json()["ids"]


def listed(client: TestClient, **params: object) -> list[int]:
    response = client.get("/api/runs", params=params)
    assert response.status_code == 200, response.text
    return [item["id"] for item in response.json()["items"]]


def test_the_newest_comes_first_and_pages_do_not_overlap(client: TestClient, add_runs: AddRuns) -> None:
    ids = add_runs(*({} for _ in range(7)))
    assert listed(client) == ids[::-1]
    pages = [listed(client, limit=3, offset=offset) for offset in (0, 3, 6, 9)]
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert [run_id for page in pages for run_id in page] == ids[::-1]
    assert client.get("/api/runs?limit=3").json()["total"] == 7


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"q": "nightly"}, [0]),
        ({"q": "NIGHT"}, [0]),
        ({"q": "slow on"}, [1]),
        ({"q": "100%"}, [2]),
        ({"q": "_"}, []),
        ({"q": "\\"}, []),
        ({"preset": "hstu"}, [1]),
        ({"provider": "sdpa"}, [2]),
        ({"verdict": "failed"}, [3]),
        ({"dtype": "bfloat16"}, [3]),
        ({"device": "H200"}, [0]),
        ({"provider": "passes", "dtype": "float32"}, [0, 1]),
        ({"q": "' OR 1=1 --"}, []),
    ],
)
def test_filters(client: TestClient, add_runs: AddRuns, params: dict[str, str], found: list[int]) -> None:
    ids = add_runs(
        {"name": "nightly", "device": "H200"},
        {"note": "slow on Monday", "mask_name": "hstu"},
        {"name": "at 100% load", "provider": "sdpa"},
        {"verdict": "failed", "dtype": "bfloat16"},
    )
    assert listed(client, order="asc", **params) == [ids[index] for index in found]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_missing_numbers_come_last_in_both_directions(client: TestClient, add_runs: AddRuns, order: str) -> None:
    slow, missing, fast = add_runs({"median_ms": 3.0}, {"median_ms": None}, {"median_ms": 1.0})
    expected = [fast, slow] if order == "asc" else [slow, fast]
    assert listed(client, sort="median_ms", order=order) == [*expected, missing]


def test_every_sort_key_is_a_column(client: TestClient, add_runs: AddRuns) -> None:
    ids = add_runs({}, {})
    for key in RunSort.__args__:
        assert sorted(listed(client, sort=key)) == ids


def test_a_run_can_be_renamed_and_noted_without_losing_the_other(client: TestClient, add_runs: AddRuns) -> None:
    (run_id,) = add_runs({"name": "old"})
    assert client.patch(f"/api/runs/{run_id}", json={"note": "<b>é</b> 😀"}).json()["name"] == "old"
    renamed = client.patch(f"/api/runs/{run_id}", json={"name": "new"}).json()
    assert (renamed["name"], renamed["note"]) == ("new", "<b>é</b> 😀")
    assert client.get(f"/api/runs/{run_id}").json() == renamed
    assert client.patch(f"/api/runs/{run_id}", json={"verdict": "passed"}).status_code == 422
    assert client.patch(f"/api/runs/{run_id}", json={"name": "x" * 201}).status_code == 422


def test_a_deleted_run_is_gone_for_everybody_and_can_be_had_back_for_a_day(
    client: TestClient, add_runs: AddRuns, settings
) -> None:
    gone, stays = add_runs({}, {})
    assert client.delete(f"/api/runs/{gone}").status_code == 204
    assert listed(client) == [stays]
    for response in (
        client.get(f"/api/runs/{gone}"),
        client.delete(f"/api/runs/{gone}"),
        client.patch(f"/api/runs/{gone}", json={"name": "x"}),
        client.get(f"/api/compare?ids={gone}"),
    ):
        assert response.status_code == 404
    assert client.get("/api/launches").json()[0]["counts"]["total"] == 1
    assert [run["id"] for run in client.get("/api/launches/1").json()["runs"]] == [stays]
    assert change(client, "undelete", gone) == [gone]
    assert sorted(listed(client)) == [gone, stays]
    assert client.delete(f"/api/runs/{gone}").status_code == 204
    engine = open_engine(settings.database_url)
    with Session(engine) as session:
        session.get(Run, gone).deleted_at = utc_now() - timedelta(hours=25)
        session.commit()
    assert client.delete(f"/api/runs/{stays}").status_code == 204
    with Session(engine) as session:
        assert session.get(Run, gone) is None and session.get(Run, stays) is not None
    engine.dispose()


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_run_that_is_not_finished_cannot_be_deleted(client: TestClient, add_runs: AddRuns, state: str) -> None:
    (run_id,) = add_runs({"state": state})
    response = client.delete(f"/api/runs/{run_id}")
    assert (response.status_code, response.json()["error"]["code"]) == (409, "run_active")
    assert listed(client) == [run_id]


def test_compare_uses_the_first_run_as_baseline_unless_told(client: TestClient, add_runs: AddRuns) -> None:
    first, second = add_runs(
        {"median_ms": 2.0, "p20_ms": 2.0, "p80_ms": 2.0}, {"median_ms": 1.0, "p20_ms": 1.0, "p80_ms": 1.0}
    )
    ids = f"{first},{second},{first}"
    default = client.get("/api/compare", params={"ids": ids}).json()
    assert default["baseline_id"] == first and [run["ratio"] for run in default["runs"]] == [1.0, 2.0]
    chosen = client.get("/api/compare", params={"ids": ids, "baseline": second}).json()
    assert [run["ratio"] for run in chosen["runs"]] == [0.5, 1.0]
    assert client.get("/api/compare", params={"ids": ",".join(map(str, range(1, 102)))}).status_code == 422


def test_pages_stay_valid_json_whatever_the_numbers_were(client: TestClient, add_runs: AddRuns) -> None:
    (run_id,) = add_runs({"max_error": None, "nonfinite": {"max_error": "NaN", "tflops": "Infinity"}})
    for path in ("/api/runs", f"/api/runs/{run_id}", f"/api/compare?ids={run_id}", "/api/export/runs?format=json"):
        text = client.get(path).text
        json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
        assert '"NaN"' in text
    assert client.get(f"/api/runs/{run_id}").json()["error_text"] == "NaN"


@pytest.mark.parametrize("name", ['=HYPERLINK("http://evil")', "+1", "-1", "@x", "\t=1+1", "\r=1", "\n=1"])
def test_no_cell_of_the_csv_is_a_formula(client: TestClient, add_runs: AddRuns, name: str) -> None:
    add_runs({"name": name, "note": name, "median_ms": -1.5, "nonfinite": {"tflops": "-Infinity"}})
    response = client.get("/api/export/runs")
    assert response.headers["content-disposition"] == 'attachment; filename="runs.csv"'
    (row,) = csv.DictReader(io.StringIO(response.text, newline=""))
    assert row["name"] == row["note"] == "'" + name
    assert (row["median_ms"], row["tflops"]) == ("-1.5", "-Infinity")


def test_exports_follow_the_filter(client: TestClient, add_runs: AddRuns) -> None:
    add_runs({"provider": "sdpa"}, {"provider": "torch"})
    rows = list(csv.DictReader(io.StringIO(client.get("/api/export/runs?provider=sdpa").text)))
    assert [row["provider"] for row in rows] == ["sdpa"]
    assert [run["provider"] for run in client.get("/api/export/runs?format=json&provider=torch").json()] == ["torch"]
