"""The built pages: the page for every address of the interface, files as they are, and never anything outside."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from compilemask_studio.main import create_app
from fastapi.testclient import TestClient

HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def ui(settings, tmp_path: Path, worker_command) -> Iterator[TestClient]:
    folder = tmp_path / "ui"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>the page</title>")
    (folder / "assets" / "app-1a2b.js").write_text("export {}")
    (folder / "assets" / "app-1a2b.js.gz").write_bytes(gzip.compress(b"export { packed }"))
    (folder / "icon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "assets" / "link.txt").symlink_to(tmp_path / "secret.txt")
    app = create_app(settings.model_copy(update={"static_dir": folder}), worker_command=worker_command)
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/runs", "/runs/12", "/compare?ids=1,2", "/deep/er/address"])
def test_every_address_a_person_opens_is_the_page(ui: TestClient, path: str) -> None:
    response = ui.get(path, headers=HTML)
    assert response.status_code == 200 and "the page" in response.text
    assert response.headers["cache-control"] == "no-cache"


def test_files_are_served_with_their_type_and_assets_for_ever(ui: TestClient) -> None:
    script = ui.get("/assets/app-1a2b.js", headers={"Accept-Encoding": "identity"})
    assert script.text == "export {}" and "javascript" in script.headers["content-type"]
    assert "immutable" in script.headers["cache-control"]
    assert ui.get("/icon.svg").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [("gzip", True), ("br, GZIP;q=0.8", True), ("br", False), ("gzip; q=0", False), ("gzipped", False), ("", False)],
)
def test_a_packed_copy_is_sent_to_who_takes_it(ui: TestClient, accepted: str, packed: bool) -> None:
    script = ui.get("/assets/app-1a2b.js", headers={"Accept-Encoding": accepted})
    assert script.text == ("export { packed }" if packed else "export {}")
    assert script.headers.get("content-encoding") == ("gzip" if packed else None)
    assert "javascript" in script.headers["content-type"] and "immutable" in script.headers["cache-control"]
    assert script.headers.get("vary") == "Accept-Encoding"
    assert ui.get("/icon.svg", headers={"Accept-Encoding": accepted}).text == "<svg/>"


@pytest.mark.parametrize("path", ["/assets/app-old.js", "/assets/missing", "/favicon.ico", "/api/runs2"])
def test_what_is_not_there_is_404_and_not_the_page(ui: TestClient, path: str) -> None:
    assert ui.get(path).status_code == 404
    if "." in path or path.startswith("/api"):
        assert ui.get(path, headers=HTML).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt", "/assets/%2e%2e/%2e%2e/secret.txt",
        "/..%2fsecret.txt", "//etc/passwd", "/%2fetc/passwd", "/etc/passwd", "/assets/link.txt", "/assets/%00.js",
        "/file:///etc/passwd", "/secret.txt#", "/assets/..%5c..%5csecret.txt", "/" + "a" * 5000 + ".js",
    ],
)  # fmt: skip
def test_nothing_outside_of_the_folder_is_read(ui: TestClient, path: str) -> None:
    response = ui.get(f"http://127.0.0.1:8000{path}")
    assert response.status_code == 404
    assert (
        "secret" not in response.text.replace("/secret.txt", "").replace("secret.txt", "")
        and "root:" not in response.text
    )


def test_without_a_built_interface_the_page_says_how_to_build_it(client: TestClient) -> None:
    response = client.get("/", headers=HTML)
    assert response.status_code == 200 and "make studio" in response.text
    assert client.get("/assets/app.js").status_code == 404
