"""What the editor shows: diagnostics at the right place, exact numbers, and pictures that equal the cells."""

from __future__ import annotations

import base64
import builtins
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compilemask_studio.errors import StudioError
from compilemask_studio.services.compile_service import CompileService
from compilemask_studio.services.mask_service import find_mask
from compilemask_studio.services.utf16 import Utf16Offsets
from fastapi.testclient import TestClient
from sqlalchemy import Engine
from sqlmodel import Session

from compilemask.descriptor import MaskDescriptor
from compilemask.diagnostics import Span
from compilemask.syntax import words

CAUSAL = "mask causal(n: int)\ntokens { S: n }\nS sees S causal\n"
WINDOW = "mask window(n: int, w: int = 3)\ntokens { S: n }\nS sees S causal where q - k < w\n"


@pytest.fixture
def client(shared_client: TestClient) -> TestClient:
    return shared_client


@pytest.fixture
def compile(client: TestClient) -> Callable[..., dict]:
    def post(source: str, **body: object) -> dict:
        response = client.post("/api/compile", json={"source": source, **body})
        assert response.status_code == 200, response.text
        return response.json()

    return post


def test_a_mask_comes_with_its_exact_numbers(compile) -> None:
    result = compile(CAUSAL, values={"n": 300}, revision=7)
    assert (result["revision"], result["values"], result["assumed"], result["diagnostics"]) == (7, {"n": 300}, [], [])
    assert result["program"]["name"] == "causal"
    plain = {"default": None, "doc": "", "minimum": None, "maximum": None, "per": None}
    assert result["program"]["parameters"] == [{"name": "n", "type": "int", **plain}]
    statistics = result["mask"]["statistics"]
    assert (statistics["q_len"], statistics["kv_len"], statistics["visible_pairs"]) == (300, 300, 300 * 301 // 2)
    assert (statistics["runs"], statistics["runs_per_row_max"], statistics["runs_per_row_mean"]) == (1, 1, 1.0)
    assert (statistics["empty_rows"], statistics["first_empty_row"], statistics["unseen_keys"]) == (0, None, 0)
    tiles = statistics["tiles"]
    assert (tiles["full"], tiles["partial"], tiles["empty"]) == (3, 3, 3)
    assert tiles["fill"] == statistics["visible_pairs"] / tiles["processed_pairs"] <= 1
    region = {"name": "S", "label": "S", "start": 0, "stop": 300}
    assert result["mask"]["query_regions"] == result["mask"]["key_regions"] == [region]
    assert result["mask"]["regions_shown"] is True
    assert all(value >= 0 for value in result["timings"].values())


def test_equal_masks_have_equal_hashes_and_other_numbers_another(compile) -> None:
    causal = compile(CAUSAL, values={"n": 64})["mask"]["hash"]
    assert compile(WINDOW, values={"n": 64, "w": 64})["mask"]["hash"] == causal
    assert compile(WINDOW, values={"n": 64})["mask"]["hash"] != causal


def test_mistakes_are_data_with_a_place(compile) -> None:
    source = "mask causal(n: int)\ntokens { S: n }\nS sees T causal\n"
    result = compile(source)
    assert result["mask"] is None
    (error,) = [d for d in result["diagnostics"] if d["severity"] == "error"]
    assert source[error["span"]["start"] : error["span"]["stop"]] == "T"
    assert (error["line"], error["column"]) == (3, 8)
    assert error["code"].startswith("CM") and "T" in error["message"]


def test_places_are_counted_as_editors_count_them(compile) -> None:
    source = "# 😀 é 𝕊\nmask causal(n: int)\ntokens { S: n }\nS sees T causal\n"
    (error,) = [d for d in compile(source)["diagnostics"] if d["severity"] == "error"]
    units = source.encode("utf-16-le")
    span = units[2 * error["span"]["start"] : 2 * error["span"]["stop"]]
    assert span.decode("utf-16-le") == "T"
    for fix in error["fixes"]:
        for edit in fix["edits"]:
            replaced = units[2 * edit["span"]["start"] : 2 * edit["span"]["stop"]].decode("utf-16-le")
            assert replaced in source


@pytest.mark.parametrize("text", ["", "plain", "é", "😀", "a😀b𝕊c", "😀😀"])
def test_utf16_offsets_equal_the_encoders(text: str) -> None:
    offsets = Utf16Offsets(text)
    for index in range(len(text) + 1):
        assert offsets.offset(index) == len(text[:index].encode("utf-16-le")) // 2
    assert offsets.span(Span(0, len(text))).stop == len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize(
    "source", ["", "mask", "\x00", "{" * 3000, "mask m(n: int)\ntokens { S: n // 0 }\nS sees S\n", "😀"]
)
def test_no_text_is_an_error_of_the_server(compile, source: str) -> None:
    result = compile(source)
    assert result["mask"] is None and result["diagnostics"]


@pytest.mark.parametrize(
    "values", [{"n": -1}, {"n": 10**18}, {"n": 10**4000}, {"n": 2**31 - 1}, {"n": [1]}, {"n": True}, {"m": 3}, {"n": 0}]
)
def test_no_number_is_an_error_of_the_server(compile, values: dict) -> None:
    result = compile(CAUSAL, values=values)
    assert (result["mask"] is None) == any(d["severity"] == "error" for d in result["diagnostics"])


def test_a_mask_too_large_to_plan_while_typing_is_a_diagnostic(compile) -> None:
    strides = "mask s(n: int)\ntokens { S: n }\nS sees S where k % 128 == 0\n"
    for source, n, block in ((CAUSAL, 10**8, 64), (strides, 262_144, 128)):
        result = compile(source, values={"n": n}, block_m=block)
        assert result["mask"] is None
        assert [d["code"] for d in result["diagnostics"] if d["severity"] == "error"] == ["ST001"]
        assert "the studio does up to 524,288" in result["diagnostics"][-1]["message"]
    assert compile(CAUSAL, values={"n": 10**6})["mask"] is not None


def test_values_that_are_not_given_come_from_example_default_or_guess_and_are_said(compile) -> None:
    with_example = WINDOW + "example small(n = 10)\n"
    assert compile(with_example)["values"] == {"n": 10, "w": 3}
    assert compile(with_example)["assumed"] == []
    guessed = compile(WINDOW)
    assert guessed["assumed"] == ["n"] and guessed["values"]["n"] > 0


# ---------------------------------------------------------------- views of a mask


def brute_force(n: int, w: int) -> np.ndarray:
    q, k = np.ogrid[:n, :n]
    return (k <= q) & (q - k < w)


def test_tiles_equal_the_cells(client: TestClient, compile) -> None:
    n, w = 700, 40
    mask = compile(WINDOW, values={"n": n, "w": w})["mask"]
    assert mask["levels"] == 3
    cells = np.zeros((1024, 1024), dtype=np.int64)
    cells[:n, :n] = brute_force(n, w)
    for level in range(mask["levels"]):
        size = 1 << level
        density = cells.reshape(1024 // size, size, 1024 // size, size).sum(axis=(1, 3))
        tiles = -(-n // (256 * size))
        for y in range(tiles):
            for x in range(tiles):
                response = client.get(f"/api/masks/{mask['hash']}/tiles/{level}/{y}/{x}")
                pixels = np.frombuffer(response.content, dtype=np.uint8).reshape(256, 256)
                wanted = density[y * 256 : (y + 1) * 256, x * 256 : (x + 1) * 256]
                assert np.array_equal(pixels == 0, wanted == 0)
                inside = wanted[wanted == size * size]
                assert (pixels[wanted == size * size] == 255).all() and inside.size >= 0


def test_tiles_may_be_kept_for_ever(client: TestClient, compile) -> None:
    hash = compile(CAUSAL, values={"n": 10})["mask"]["hash"]
    response = client.get(f"/api/masks/{hash}/tiles/0/0/0")
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert response.headers["content-type"] == "application/octet-stream" and len(response.content) == 65536
    for outside in ("1/0/0", "0/1/0", "0/0/1", "62/0/0", f"0/{10**30}/0"):
        missing = client.get(f"/api/masks/{hash}/tiles/{outside}")
        assert missing.status_code == 404 and missing.headers["cache-control"] == "no-store"


def test_rows_are_the_visible_intervals(client: TestClient, compile) -> None:
    hash = compile(WINDOW, values={"n": 20})["mask"]["hash"]
    assert client.get(f"/api/masks/{hash}/rows/0").json() == {"q": 0, "total": 1, "pairs": 1, "intervals": [[0, 1]]}
    assert client.get(f"/api/masks/{hash}/rows/19").json() == {"q": 19, "total": 1, "pairs": 3, "intervals": [[17, 20]]}
    assert client.get(f"/api/masks/{hash}/rows/20").json()["error"]["code"] == "row_unknown"


def test_the_run_table_adds_up_to_the_visible_pairs_over_its_pages(client: TestClient, compile) -> None:
    source = "mask d(lengths: int[])\ntokens { D[i]: lengths[i] }\nD[i] sees D[i] causal\n"
    mask = compile(source, values={"lengths": list(range(1, 31))})["mask"]
    pages = [
        client.get(f"/api/masks/{mask['hash']}/runs?offset={offset}&limit=10").json() for offset in (0, 10, 20, 30)
    ]
    assert {page["total"] for page in pages} == {mask["statistics"]["runs"]}
    rows = [row for page in pages for row in page["rows"]]
    assert len(rows) == mask["statistics"]["runs"]
    assert sum(row["pairs"] for row in rows) == mask["statistics"]["visible_pairs"]
    for row in rows:
        widths = [
            (row["hi_slope"] - row["lo_slope"]) * q + row["hi_offset"] - row["lo_offset"]
            for q in range(row["q_start"], row["q_stop"])
        ]
        assert row["pairs"] == sum(widths) and min(widths) > 0


def test_the_descriptor_is_an_attachment_that_loads(client: TestClient, compile) -> None:
    hash = compile(WINDOW, values={"n": 20})["mask"]["hash"]
    response = client.get(f"/api/masks/{hash}/descriptor")
    assert response.headers["content-disposition"] == f'attachment; filename="mask-{hash[:16]}.json"'
    assert MaskDescriptor.from_json(response.text).hash == hash


def test_too_many_regions_are_not_listed(compile) -> None:
    source = "mask d(lengths: int[])\ntokens { D[i]: lengths[i] }\nD[i] sees D[i] causal\n"
    mask = compile(source, values={"lengths": [2] * 2001})["mask"]
    assert (mask["regions_shown"], mask["query_regions"]) == (False, [])


def test_a_forgotten_mask_is_compiled_again_from_a_stored_run(engine: Engine, add_launch, make_run) -> None:
    hash = CompileService().bind(WINDOW, {"n": 33}).descriptor.hash
    launch_id = add_launch()
    with Session(engine) as session:
        session.add(make_run(launch_id=launch_id, source=WINDOW, values={"n": 33}, mask_hash=hash))
        session.add(make_run(launch_id=launch_id, source=WINDOW, values={"n": 34}, mask_hash="ee" * 32))
        session.commit()
        assert find_mask(CompileService(), session, hash).hash == hash
        for other in ("ee" * 32, "ff" * 32):
            with pytest.raises(StudioError, match="does not know this mask") as caught:
                find_mask(CompileService(), session, other)
            assert (caught.value.status, caught.value.code) == (404, "mask_unknown")


def test_tiles_that_are_asked_for_come_with_the_mask(client: TestClient, compile) -> None:
    asked = [{"z": 1, "y": 0, "x": 0}, {"z": 0, "y": 1, "x": 1}, {"z": 0, "y": 1, "x": 0}]
    outside = [{"z": 2, "y": 0, "x": 0}, {"z": 0, "y": 2, "x": 0}, {"z": 0, "y": 0, "x": 2}]
    result = compile(CAUSAL, values={"n": 300}, tiles=[outside[0], asked[0], outside[1], *asked[1:], outside[2]])
    bundle, hash = result["tiles"], result["mask"]["hash"]
    assert bundle["tiles"] == asked
    content = zlib.decompress(base64.b64decode(bundle["content"]))
    path = f"/api/masks/{hash}/tiles"
    assert content == b"".join(client.get(f"{path}/{one['z']}/{one['y']}/{one['x']}").content for one in asked)
    unasked = compile(CAUSAL, values={"n": 300})["tiles"]
    assert (unasked["tiles"], zlib.decompress(base64.b64decode(unasked["content"]))) == ([], b"")
    assert compile("mask", tiles=asked)["tiles"] is None


@pytest.mark.parametrize("tiles", [[{"z": 0, "y": 0, "x": 0}] * 33, [{"z": -1, "y": 0, "x": 0}], [{"z": 0, "y": 0}]])
def test_tiles_that_cannot_be_meant_are_refused(client: TestClient, tiles: list[dict[str, int]]) -> None:
    response = client.post("/api/compile", json={"source": CAUSAL, "tiles": tiles})
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_request")


# ---------------------------------------------------------------- language, presets, export


def test_the_word_list_is_the_languages_own(client: TestClient) -> None:
    listed = client.get("/api/language").json()["words"]
    assert [word["name"] for word in listed] == [word.name for word in words()]
    assert all(word["doc"] for word in listed)


def test_presets_compile_to_the_hash_they_state(client: TestClient, compile) -> None:
    presets = client.get("/api/presets").json()
    assert {"causal", "hstu", "clear", "documents"} <= {preset["name"] for preset in presets}
    for preset in presets:
        assert preset["title"] and preset["doc"]
        result = compile(preset["source"], values=preset["values"])
        assert result["mask"]["hash"] == preset["hash"], preset["name"]
        assert client.get(f"/api/masks/{preset['hash']}/tiles/0/0/0").status_code == 200


def test_one_preset_is_the_one_of_the_list(client: TestClient) -> None:
    listed = {preset["name"]: preset for preset in client.get("/api/presets").json()}
    assert client.get("/api/presets/hstu").json() == listed["hstu"]
    unknown = client.get("/api/presets/causall")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "preset_unknown")
    assert "causal" in unknown.json()["error"]["message"]


def test_a_presets_mask_is_known_however_much_was_compiled_since(client: TestClient, compile) -> None:
    preset = client.get("/api/presets/causal").json()
    tile = client.get(f"/api/masks/{preset['hash']}/tiles/0/0/0").content
    for n in range(300, 400):
        compile(CAUSAL, values={"n": n})
    assert client.get(f"/api/masks/{preset['hash']}/tiles/0/0/0").content == tile


def test_the_python_export_rebuilds_the_mask(client: TestClient, compile) -> None:
    response = client.post("/api/export/python", json={"source": WINDOW, "values": {"n": 40}})
    assert response.status_code == 200
    assert response.headers["content-disposition"] == 'attachment; filename="window.py"'
    assert response.headers["content-type"].startswith("text/x-python")
    namespace: dict[str, Any] = {"__name__": "exported"}
    exec(builtins.compile(response.text, "exported.py", "exec"), namespace)
    assert namespace["mask"]().hash == compile(WINDOW, values={"n": 40})["mask"]["hash"]


def test_a_text_that_does_not_compile_is_not_exported(client: TestClient) -> None:
    response = client.post("/api/export/python", json={"source": "mask m("})
    assert response.status_code == 409
    error = response.json()["error"]
    assert error["code"] == "mask_invalid" and "CM" in error["message"]
