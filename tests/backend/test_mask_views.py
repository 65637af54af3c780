"""Rules, columns, kernel tiles and costs of a mask, against counting its cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compilemask_studio.models import Launch, Run, utc_now
from compilemask_studio.services.tile_statistics import block_for
from fastapi.testclient import TestClient
from sqlmodel import Session

from compilemask.compiler import compile
from compilemask.descriptor import MaskDescriptor
from compilemask.plan import HOPPER_H200, TRITON_H200, choose_kernel_tiling
from compilemask.presets import preset_source
from compilemask.preview import parts_tile

HSTU = preset_source("hstu")
CLEAR = preset_source("clear")
IMAGE: dict[str, Any] = {"text": 20, "height": 32, "width": 32, "radius": 3}


@pytest.fixture
def client(shared_client: TestClient) -> TestClient:
    return shared_client


def answer(client: TestClient, path: str, **query: Any) -> Any:
    response = client.get(path, params=query)
    assert response.status_code == 200, response.text
    return response.json()


def shown(client: TestClient, source: str, values: dict[str, Any] | None = None) -> tuple[str, MaskDescriptor]:
    """The mask compiled by the studio, and by the library."""
    program = compile(source)
    mask = program.bind(**(program.example() if values is None else values))
    assert isinstance(mask, MaskDescriptor)
    response = client.post("/api/compile", json={"source": source, "values": values or program.example()})
    assert response.json()["mask"]["hash"] == mask.hash, response.text
    return mask.hash, mask


def lengths(intervals: list[list[int]]) -> int:
    return sum(stop - start for start, stop in intervals)


def test_a_row_and_a_column_list_their_intervals(client: TestClient) -> None:
    hash, mask = shown(client, HSTU)
    cells = mask.dense()
    for k in (0, 5, 6, 71, 72, 95):
        column = answer(client, f"/api/masks/{hash}/columns/{k}")
        listed = [q for start, stop in column["intervals"] for q in range(start, stop)]
        assert listed == np.flatnonzero(cells[:, k]).tolist()
        assert (column["k"], column["total"], column["pairs"]) == (k, len(column["intervals"]), len(listed))
    row = answer(client, f"/api/masks/{hash}/rows/90")
    assert (row["total"], row["pairs"]) == (len(row["intervals"]), int(cells[90].sum()))
    response = client.get(f"/api/masks/{hash}/columns/96")
    assert response.status_code == 404 and response.json()["error"]["code"] == "column_unknown"


def test_families_unfold_to_the_runs(client: TestClient) -> None:
    hash, mask = shown(client, CLEAR, IMAGE)
    table = answer(client, f"/api/masks/{hash}/families", limit=1000)
    assert table["total"] == len(table["families"]) == mask.num_families < mask.num_runs
    unfolded = []
    for family in table["families"]:
        first = family["first"]
        members = [(first["q_start"], first["q_stop"], first["lo_offset"], first["hi_offset"])]
        for repeat in family["repeats"]:
            step = (repeat["rows"], repeat["rows_stop"], repeat["lo"], repeat["hi"])
            members = [
                tuple(value + i * add for value, add in zip(member, step, strict=True))
                for i in range(repeat["count"])
                for member in members
            ]
        assert family["runs"] == len(members)
        unfolded += [(*member[:3], first["lo_slope"], member[3], first["hi_slope"]) for member in members]
    runs = answer(client, f"/api/masks/{hash}/runs", limit=1000)["rows"]
    names = ("q_start", "q_stop", "lo_offset", "lo_slope", "hi_offset", "hi_slope")
    assert sorted(unfolded) == sorted(tuple(run[name] for name in names) for run in runs)
    page = answer(client, f"/api/masks/{hash}/families", offset=3, limit=2)
    assert page["families"] == table["families"][3:5]


def test_a_cell_is_in_the_run_that_is_named(client: TestClient) -> None:
    hash, mask = shown(client, HSTU)
    runs = answer(client, f"/api/masks/{hash}/runs", limit=1000)["rows"]
    cells = mask.dense()
    for q, k in [(0, 0), (50, 49), (95, 95), (95, 94), (80, 3), (0, 95)]:
        number = answer(client, f"/api/masks/{hash}/run-at/{q}/{k}")["number"]
        assert (number is not None) == bool(cells[q, k])
        if number is not None:
            run = runs[number]
            assert run["q_start"] <= q < run["q_stop"]
            assert run["lo_slope"] * q + run["lo_offset"] <= k < run["hi_slope"] * q + run["hi_offset"]


def test_each_rule_is_a_mask_and_together_they_are_a_picture(client: TestClient) -> None:
    hash, mask = shown(client, HSTU)
    response = client.post("/api/rules", json={"source": HSTU, "values": {}})
    rules = response.json()
    assert response.status_code == 200 and rules["hash"] == hash
    program = compile(HSTU)
    parts = program.rule_parts(program.lower(**program.example()))
    assert [(r["line"], r["text"], r["visible_pairs"], r["hash"]) for r in rules["parts"]] == [
        (part.line, part.text, part.cells.visible_pairs, part.cells.hash) for part in parts
    ]
    assert all(HSTU[r["span"]["start"] : r["span"]["stop"]] == r["text"] for r in rules["parts"])
    tile = client.get(f"/api/rules/{rules['key']}/tiles/0/0/0")
    assert tile.content == parts_tile(mask, [part.cells for part in parts], 0, 0, 0).tobytes()
    assert "immutable" in tile.headers["cache-control"]
    one = client.get(f"/api/masks/{rules['parts'][0]['hash']}/tiles/0/0/0")
    drawn = np.frombuffer(one.content, np.uint8).reshape(256, 256)[:96, :96] > 0
    assert np.array_equal(drawn, parts[0].cells.dense())


@pytest.mark.parametrize(
    ("path", "code"), [("nothing/tiles/0/0/0", "rules_unknown"), ("{key}/tiles/1/0/0", "tile_unknown")]
)
def test_pictures_that_do_not_exist_are_refused(client: TestClient, path: str, code: str) -> None:
    key = client.post("/api/rules", json={"source": HSTU}).json()["key"]
    response = client.get(f"/api/rules/{path.format(key=key)}")
    assert response.status_code == 404 and response.json()["error"]["code"] == code


def test_rules_of_a_broken_text_are_refused_in_words(client: TestClient) -> None:
    response = client.post("/api/rules", json={"source": "mask m(n: int)\ntokens { S: n }\nS seen S\n"})
    assert response.status_code == 409 and response.json()["error"]["code"] == "mask_invalid"


BATCH = """mask m(n: int, prefix: int per item in 0.., window: int per head = 3)
tokens { S: n }
S sees S k < prefix
S sees S causal and q - k < window
example served(n = 6, prefix = [2, 4, 0], window = [1, 3])
"""


@pytest.mark.parametrize(("item", "head", "place"), [(0, 0, (0, 0)), (1, 1, (1, 1)), (2, 0, (2, 0)), (9, 9, (2, 1))])
def test_any_mask_of_a_batch_is_shown_explained_and_split_into_rules(
    client: TestClient, item: int, head: int, place: tuple[int, int]
) -> None:
    program = compile(BATCH)
    own = program.values_of(*place, **program.example())
    alone = program.lower(**own)
    asked = {"source": BATCH, "values": {}, "item": item, "head": head}
    result = client.post("/api/compile", json=asked).json()
    assert result["batch"] == {"num_items": 3, "num_heads": 2, "item": place[0], "head": place[1]}
    assert result["mask"]["hash"] == alone.descriptor.hash
    (warning,) = [d for d in result["diagnostics"] if d["code"] == "CM540"]
    assert f"item {place[0]}, head {place[1]}" in warning["message"]
    rules = client.post("/api/rules", json=asked).json()
    assert [r["visible_pairs"] for r in rules["parts"]] == [p.cells.visible_pairs for p in program.rule_parts(alone)]
    explained = client.post("/api/explain", json=asked | {"q": 0, "k": 3}).json()
    assert explained["visible"] == bool(alone.descriptor.dense()[0, 3])
    assert client.post("/api/compile", json=asked | {"item": -1}).status_code == 422


@pytest.mark.parametrize(
    ("length", "block"), [(0, 16), (96, 16), (256, 32), (511, 32), (512, 64), (1024, 128), (10**6, 128)]
)
def test_small_masks_have_small_tiles_unless_asked_otherwise(client: TestClient, length: int, block: int) -> None:
    assert block_for(length) == block
    body = {"source": "mask m(n: int)\ntokens { S: n }\nS sees S causal\n", "values": {"n": length}}
    tiles = client.post("/api/compile", json=body | {"block_m": None, "block_n": 64}).json()["mask"]["statistics"][
        "tiles"
    ]
    assert (tiles["block_m"], tiles["block_n"]) == (block, 64)


@pytest.mark.parametrize(("source", "values", "kind"), [(HSTU, None, "rows"), (CLEAR, IMAGE, "packed")])
def test_q_tiles_hold_every_row_once_and_read_every_visible_key(
    client: TestClient, source: str, values: dict[str, Any] | None, kind: str
) -> None:
    hash, mask = shown(client, source, values)
    cells = mask.dense()
    blocks = {"block_m": 32, "block_n": 32}
    table = answer(client, f"/api/masks/{hash}/q-tiles", **blocks)
    assert table["kind"] == kind and len(table["tiles"]) == table["total"]
    owner = np.full(mask.q_len, -1)
    for summary in table["tiles"]:
        tile = answer(client, f"/api/masks/{hash}/q-tiles/{summary['number']}", **blocks)
        rows = np.concatenate([np.arange(start, stop) for start, stop in tile["rows"]])
        assert summary["rows"] == tile["rows"] and summary["num_rows"] == len(rows) <= 32
        assert np.all(owner[rows] == -1)
        owner[rows] = summary["number"]
        assert (summary["full"], summary["partial"]) == tuple(
            sum(one["full"] == full for one in tile["tiles"]) for full in (True, False)
        )
        read = np.zeros(mask.kv_len, np.bool_)
        for one in tile["tiles"]:
            assert lengths(one["keys"]) <= 32
            for start, stop in one["keys"]:
                assert not read[start:stop].any()
                read[start:stop] = True
                assert not one["full"] or cells[rows, start:stop].all()
        assert not cells[rows][:, ~read].any()
    assert not np.any(owner < 0)
    half = answer(client, f"/api/masks/{hash}/q-tiles-of-rows", start=8, step=2, **blocks)
    expected = owner[8::2][:256].tolist()
    assert half["tiles"] == expected + [-1] * (256 - len(expected))
    response = client.get(f"/api/masks/{hash}/q-tiles/{table['total']}", params=blocks)
    assert response.status_code == 404 and response.json()["error"]["code"] == "q_tile_unknown"


def test_the_cost_of_an_image_mask_is_told_with_what_to_do_about_it(client: TestClient) -> None:
    hash, mask = shown(client, CLEAR, IMAGE)
    cost = answer(client, f"/api/masks/{hash}/cost", block_m=128, block_n=64)
    assert cost["visible_pairs"] == mask.visible_pairs <= cost["processed_pairs"]
    assert cost["fill"] == pytest.approx(mask.visible_pairs / cost["processed_pairs"])
    chosen = [one for one in cost["candidates"] if one["chosen"]]
    assert len(chosen) == 1 and chosen[0]["kind"] == cost["kind"]
    assert cost["candidates"][0]["kind"] == "rows"
    formats = answer(client, f"/api/masks/{hash}/formats", block_m=128, block_n=64)["formats"]
    sizes = {one["name"]: one["bytes"] for one in formats}
    assert sizes["dense bool"] == mask.q_len * mask.kv_len and sizes["descriptor"] == mask.families().nbytes
    assert {(b["block_m"], b["block_n"]) for b in cost["blocks"]} == {(128, 64), (64, 64), (128, 128), (64, 32)}
    best = min(cost["blocks"], key=lambda one: one["predicted_ms"])
    tried = [a for a in cost["advice"] if a["block_m"] is not None]
    now = next(b for b in cost["blocks"] if (b["block_m"], b["block_n"]) == (128, 64))
    assert bool(tried) == (now["predicted_ms"] >= 1.1 * best["predicted_ms"])
    if tried:
        assert (tried[0]["block_m"], tried[0]["block_n"]) == (best["block_m"], best["block_n"])
    assert any(a["show_tiles"] for a in cost["advice"]) == (cost["kind"] == "packed")
    assert cost["measured"] == []


def test_each_kernel_is_told_with_its_own_tiles_and_where_its_costs_come_from(client: TestClient) -> None:
    hash, mask = shown(client, HSTU)
    hopper, triton = answer(client, f"/api/masks/{hash}/cost", block_m=16, block_n=16)["kernels"]
    assert (hopper["impl"], hopper["auto"], triton["impl"], triton["auto"]) == ("hopper", True, "triton", False)
    for told, kernel in ((hopper, HOPPER_H200), (triton, TRITON_H200)):
        found = choose_kernel_tiling(mask, kernel)
        assert told["predicted_ms"] == found.milliseconds(16)
        assert (told["tiling"], told["kind"]) == (str(found), found.chosen.kind)
        assert (told["chip"], told["fitted"], told["source"]) == (kernel.chip, kernel.fitted, kernel.source)
    hopper, triton = answer(client, f"/api/masks/{hash}/cost", head_dim=20, num_heads=32)["kernels"]
    assert (hopper["auto"], hopper["predicted_ms"], hopper["tiling"]) == (False, None, None)
    assert hopper["reason"] == "it has no kernel for head_dim 20"
    assert triton["auto"] and triton["predicted_ms"] > 0
    neither = answer(client, f"/api/masks/{hash}/cost", head_dim=1000)["kernels"]
    assert [one["auto"] for one in neither] == [False, False]


def test_blocks_too_narrow_to_pack_are_told_too(client: TestClient) -> None:
    hash, _ = shown(client, HSTU)
    cost = answer(client, f"/api/masks/{hash}/cost", block_m=16, block_n=16)
    assert cost["kind"] == "rows" and len(cost["candidates"]) == 1
    assert answer(client, f"/api/masks/{hash}/formats", block_m=16, block_n=16)["formats"]


def test_measured_times_of_the_same_mask_stand_beside_the_prediction(
    client: TestClient, make_run: Callable[..., Run]
) -> None:
    hash, _ = shown(client, HSTU)
    passed: dict[str, Any] = {
        "mask_hash": hash,
        "verdict": "passed",
        "state": "done",
        "median_ms": 1.5,
        "dtype": "bfloat16",
    }
    engine = client.app.state.studio.engine  # type: ignore[attr-defined]
    with Session(engine) as session:
        launch = Launch(name="hstu", state="done", created_at=utc_now())
        session.add(launch)
        session.flush()
        passed["launch_id"] = launch.id
        rows = [
            make_run(**passed, provider="triton", device="NVIDIA H200", num_q_heads=16, head_dim=128),
            make_run(**passed, provider="torch", device="cpu"),
            make_run(**passed, provider="hopper", device="NVIDIA H200", num_q_heads=8, head_dim=64),
            make_run(**passed | {"dtype": "float32"}, provider="triton", device="NVIDIA H200"),
            make_run(**passed | {"verdict": "failed"}, provider="triton", device="NVIDIA H200"),
            make_run(**passed | {"mask_hash": "cd" * 32}, provider="triton", device="NVIDIA H200"),
        ]
        session.add_all(rows)
        session.commit()
        ids, launch_id = [row.id for row in rows], launch.id
    try:
        cost = answer(client, f"/api/masks/{hash}/cost", block_m=64, block_n=64, num_heads=16, head_dim=128)
        told = {run["run_id"]: run["predicted_ms"] for run in cost["measured"]}
        assert set(told) == set(ids[:4]) and told[ids[1]] is None is told[ids[3]]
        times = {one["impl"]: one["predicted_ms"] for one in cost["kernels"]}
        assert told[ids[0]] == times["triton"]
        mine = answer(client, f"/api/masks/{hash}/cost", num_heads=8, head_dim=64)["kernels"]
        assert told[ids[2]] == next(one["predicted_ms"] for one in mine if one["impl"] == "hopper")
    finally:
        with Session(engine) as session:
            session.delete(session.get(Launch, launch_id))
            session.commit()


def test_regions_of_a_part_are_those_with_a_token_there(client: TestClient) -> None:
    source = "mask packed(lengths: int[])\ntokens { D[i]: lengths[i] }\nD[i] sees D[i] causal\n"
    lengths = [3, 0, 5] * 1000
    body: dict[str, Any] = {"source": source, "values": {"lengths": lengths}}
    assert client.post("/api/compile", json=body).json()["mask"]["regions_shown"] is False
    window = {"q_start": 8, "q_stop": 17, "k_start": 11, "k_stop": 12}
    response = client.post("/api/regions", json=body | window)
    assert response.status_code == 200, response.text
    spans = [(span["label"], span["start"], span["stop"]) for span in response.json()["queries"]]
    assert spans == [("D[3]", 8, 11), ("D[5]", 11, 16), ("D[6]", 16, 19)]
    assert [span["label"] for span in response.json()["keys"]] == ["D[5]"]
    whole = client.post("/api/regions", json=body | {"q_start": 0, "q_stop": 8000, "k_start": 0, "k_stop": 0}).json()
    assert whole == {"queries": [], "keys": []}
    broken = client.post("/api/regions", json=body | window | {"source": "mask"})
    assert broken.status_code == 409 and broken.json()["error"]["code"] == "mask_invalid"


DILATED = """mask dilated(n: int, step: int, used: int)
tokens { S: n }
S sees S k % step == 0 and k < used and q >= step
"""


@pytest.mark.parametrize(
    ("values", "titles"),
    [
        ({"n": 512, "step": 16, "used": 512}, {"Hard for tiles", "Keys that nobody sees", "Queries that see nothing"}),
        ({"n": 512, "step": 1, "used": 512}, {"Queries that see nothing"}),
    ],
)
def test_advice_names_what_makes_a_mask_dear(client: TestClient, values: dict[str, int], titles: set[str]) -> None:
    hash, mask = shown(client, DILATED, values)
    cost = answer(client, f"/api/masks/{hash}/cost", block_m=16, block_n=16)
    told = {one["title"]: one["text"] for one in cost["advice"]}
    assert titles <= set(told)
    assert ("Hard for tiles" in told) == (cost["fill"] < 0.35)
    assert f"{values['step']} of 512 queries see no key" in told["Queries that see nothing"]
    if "Keys that nobody sees" in titles:
        assert f"{mask.unseen_keys:,} of 512 keys" in told["Keys that nobody sees"]
        assert "1.0 keys long on average" in told["Hard for tiles"]
