"""Before it serves: what is said when the studio cannot start, and what the link looks like."""

from __future__ import annotations

import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from compilemask_studio import launcher
from compilemask_studio.settings import Settings, data_folder, is_loopback


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOST", "PORT", "TOKEN", "DATABASE_URL"):
        monkeypatch.delenv(f"COMPILEMASK_{name}", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def read(*argv: str) -> Settings:
    return launcher.read_settings(launcher.build_parser().parse_args(argv))


def test_defaults_are_loopback_without_token_and_a_file_in_the_data_folder(tmp_path: Path) -> None:
    settings = read()
    assert (settings.host, settings.port, settings.token) == ("127.0.0.1", 8000, None)
    assert settings.database_url == f"sqlite:///{tmp_path}/compilemask/studio.db"


def test_a_relative_data_home_is_ignored_as_its_convention_demands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert data_folder() == Path("/home/somebody/.local/share/compilemask")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.1.2.3"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host) and read("--host", host).token is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "example.org"])
def test_another_address_given_by_hand_gets_a_fresh_random_token(host: str) -> None:
    first, second = read("--host", host).token, read("--host", host).token
    assert first and second and first != second and len(first) >= 24


def test_another_address_from_the_environment_without_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPILEMASK_HOST", "0.0.0.0")
    with pytest.raises(launcher.StartError, match=r"listening on 0\.0\.0\.0 .* a token is needed"):
        read()
    monkeypatch.setenv("COMPILEMASK_TOKEN", "t" * 20)
    assert read().token == "t" * 20


def test_an_empty_token_from_the_environment_is_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPILEMASK_TOKEN", "")
    assert read().token is None
    assert read("--host", "0.0.0.0").token


@pytest.mark.parametrize("argv", [("--token", "short"), ("--token", "with space and more text"), ("--port", "70000")])
def test_unusable_options_are_one_clear_message(argv: tuple[str, str]) -> None:
    with pytest.raises(launcher.StartError, match=argv[0][2:]):
        read(*argv)


def test_a_database_may_be_a_file_or_a_url(tmp_path: Path) -> None:
    assert read("--database", f"{tmp_path}/a.db").database_url == f"sqlite:///{tmp_path}/a.db"
    assert read("--database", "sqlite://").database_url == "sqlite://"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "http://127.0.0.1:9000/"),
        ({"host": "localhost"}, "http://127.0.0.1:9000/"),
        ({"host": "::1"}, "http://[::1]:9000/"),
        ({"host": "0.0.0.0", "token": "t" * 16}, "http://127.0.0.1:9000/?token=tttttttttttttttt"),
        ({"host": "192.168.0.7", "token": "t" * 16}, "http://192.168.0.7:9000/?token=tttttttttttttttt"),
    ],
)
def test_the_link_names_a_numeric_address_that_is_ours(options: dict[str, str], expected: str) -> None:
    assert launcher.link(Settings(**options), 9000) == expected


def test_the_listener_sends_small_answers_at_once() -> None:
    with launcher.listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_a_port_in_use_is_a_plain_message_and_exit_code_1(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind((address, 0))
        other.listen()
        port = other.getsockname()[1]
        assert launcher.main(["--port", str(port), "--no-browser"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.splitlines() == [
        f"compilemask studio: port {port} is in use by another program; "
        "give another one with --port, or --port 0 for any free one"
    ]


def test_an_address_that_is_not_ours_is_a_plain_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert launcher.main(["--host", "192.0.2.1", "--port", "0", "--no-browser"]) == 1
    output = capsys.readouterr()
    assert output.out == "" and output.err.startswith("compilemask studio: cannot listen on 192.0.2.1, port 0: ")
    assert len(output.err.splitlines()) == 1


def test_a_database_that_cannot_be_opened_is_a_plain_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.db").write_text("this is not a database" * 100)
    assert launcher.main(["--port", "0", "--no-browser", "--database", f"{tmp_path}/broken.db"]) == 1
    assert capsys.readouterr().err == "compilemask studio: the database cannot be used: file is not a database\n"


def test_a_database_of_a_newer_studio_is_a_plain_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "newer.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        database.execute("INSERT INTO alembic_version VALUES ('9999')")
        database.commit()
    assert launcher.main(["--port", "0", "--no-browser", "--database", str(path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("compilemask studio: a newer CompileMask Studio has changed this database")
    assert "9999" in line


def test_a_folder_that_cannot_be_made_is_a_plain_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert launcher.main(["--port", "0", "--no-browser", "--database", f"{tmp_path}/file/inside/studio.db"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("compilemask studio: the database cannot be used: ")


def test_a_driver_that_is_not_installed_is_a_plain_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert launcher.main(["--port", "0", "--no-browser", "--database", "mysql+aiomysql://here/studio"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "compilemask studio: the database cannot be used: its driver, aiomysql, is not installed"


def test_no_browser_is_opened_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    assert launcher.wants_browser(False) is False
