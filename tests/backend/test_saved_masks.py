"""Masks with names and versions: what is saved stays, comes back as it was, and is found."""

from __future__ import annotations

from typing import Any

import pytest
from compilemask_studio.services.preset_service import FAMILIES
from fastapi.testclient import TestClient
from sqlalchemy import Engine, inspect
from sqlmodel import SQLModel

from compilemask.presets import preset_names, preset_source

CAUSAL = preset_source("causal")
BROKEN = "mask broken(n: int)\ntokens { S: n }\nS sees S causul"


def save(client: TestClient, name: str = "mine", source: str = CAUSAL, **more: object) -> dict[str, Any]:
    response = client.post("/api/saved-masks", json={"name": name, "source": source, **more})
    assert response.status_code == 201, response.text
    saved: dict[str, Any] = response.json()
    return saved


def test_a_mask_is_saved_and_its_versions_come_back_as_they_were(client: TestClient) -> None:
    first = save(client, "  causal for me ", values={"n": 7}, note="first")
    assert first["name"] == "causal for me"
    text = CAUSAL + "# 😀 changed\n"
    body = {"source": text, "values": {"n": 9}, "note": "longer"}
    second = client.post(f"/api/saved-masks/{first['id']}/versions", json=body).json()
    assert [version["number"] for version in second["versions"]] == [2, 1]
    assert [version["visible_pairs"] for version in second["versions"]] == [45, 28]
    for number, source, n, note in ((1, CAUSAL, 7, "first"), (2, text, 9, "longer")):
        version = client.get(f"/api/saved-masks/{first['id']}/versions/{number}").json()
        assert (version["source"], version["values"], version["note"]) == (source, {"n": n}, note)
        assert (version["mask_id"], version["name"], version["q_len"]) == (first["id"], "causal for me", n)


def test_a_text_without_a_mask_is_saved_all_the_same(client: TestClient) -> None:
    saved = save(client, source=BROKEN)
    assert saved["versions"][0]["hash"] is None
    assert client.get(f"/api/saved-masks/{saved['id']}/versions/1").json()["source"] == BROKEN
    assert client.get("/api/saved-masks").json()["items"][0]["latest"]["q_len"] is None


def test_the_list_is_searched_in_names_notes_and_texts_and_paged(client: TestClient) -> None:
    ids = [save(client, name, note=note)["id"] for name, note in (("a", "100%"), ("b_c", ""), ("d", "x"))]
    client.post(f"/api/saved-masks/{ids[0]}/versions", json={"source": BROKEN})

    def found(q: str) -> list[int]:
        page = client.get("/api/saved-masks", params={"q": q}).json()
        assert page["total"] == len(page["items"])
        return [item["id"] for item in page["items"]]

    assert found("") == [ids[0], ids[2], ids[1]]
    assert found("100%") == [ids[0]]
    assert found("B_C") == [ids[1]]
    assert found("causul") == [ids[0]]
    assert found("nothing like it") == []
    page = client.get("/api/saved-masks", params={"offset": 1, "limit": 1}).json()
    assert ([item["id"] for item in page["items"]], page["total"]) == ([ids[2]], 3)
    newest = client.get("/api/saved-masks").json()["items"][0]
    assert (newest["versions"], newest["latest"]["number"]) == (2, 2)


def test_a_mask_is_renamed_put_away_and_brought_back(client: TestClient) -> None:
    saved = save(client)
    path = f"/api/saved-masks/{saved['id']}"
    assert client.patch(path, json={"name": "better"}).json()["name"] == "better"
    assert client.delete(path).status_code == 204
    assert client.get("/api/saved-masks").json()["total"] == 0
    gone = (
        client.get(path),
        client.delete(path),
        client.patch(path, json={"name": "x"}),
        client.post(f"{path}/versions", json={"source": CAUSAL}),
        client.get(f"{path}/versions/1"),
    )
    assert {(answer.status_code, answer.json()["error"]["code"]) for answer in gone} == {(404, "saved_mask_unknown")}
    assert client.post(f"{path}/restore").json()["name"] == "better"
    assert client.get(path).json()["versions"][0]["number"] == 1


@pytest.mark.parametrize("body", [{"name": " ", "source": ""}, {"source": ""}, {"name": "a" * 201, "source": ""}])
def test_a_mask_needs_a_name(client: TestClient, body: dict[str, str]) -> None:
    answer = client.post("/api/saved-masks", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_request")
    assert "name" in answer.json()["error"]["message"]


def test_a_version_that_is_not_there_is_said_to_be_none(client: TestClient) -> None:
    saved = save(client)
    answer = client.get(f"/api/saved-masks/{saved['id']}/versions/5")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "version_unknown")


def test_the_picture_of_a_saved_mask_outlives_the_servers_memory(client: TestClient) -> None:
    saved = save(client, values={"n": 70})
    hash = saved["versions"][0]["hash"]
    client.app.state.studio.compiler._masks._entries.clear()  # type: ignore[attr-defined]
    tile = client.get(f"/api/masks/{hash}/tiles/0/0/0")
    assert tile.status_code == 200
    assert tile.content.count(255) == 70 * 71 // 2


def test_the_migrations_make_the_tables_of_the_models(engine: Engine) -> None:
    for name in ("saved_mask", "mask_version"):
        columns = {column["name"] for column in inspect(engine).get_columns(name)}
        assert columns == set(SQLModel.metadata.tables[name].columns.keys())


def test_the_gallery_lists_every_preset_once_family_by_family(client: TestClient) -> None:
    presets = client.get("/api/presets").json()
    assert sorted(preset["name"] for preset in presets) == sorted(preset_names())
    families = [preset["family"] for preset in presets]
    changes = [family for family, before in zip(families, [None, *families[:-1]], strict=True) if family != before]
    assert len(changes) == len(set(changes)) >= 8
    listed = [name for _, names in FAMILIES for name in names.split()]
    assert len(listed) == len(set(listed))
    assert set(listed) <= set(preset_names())
