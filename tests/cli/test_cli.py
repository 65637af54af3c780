"""The command line: what each command prints, and that every slip is one clear message."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from compilemask import __version__
from compilemask.cli import main
from compilemask.compiler import compile
from compilemask.presets import preset_names, preset_source

CAUSAL = "mask causal(n: int)\ntokens { S: n }\nS sees S causal\n"
ALL_TYPES = "mask m(a: int[], b: bool, c: int = 2)\ntokens { S[i]: a[i] }\nS[i] sees S[i] where b and q - k < c\n"


@pytest.fixture
def causal(tmp_path: Path) -> str:
    path = tmp_path / "causal.mask"
    path.write_text(CAUSAL)
    return str(path)


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.mask"
    path.write_text(text)
    return str(path)


def test_version(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"compilemask {__version__}\n"


def test_python_dash_m_is_the_same_command():
    done = subprocess.run([sys.executable, "-m", "compilemask", "check", "causal"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "causal.mask: mask causal is correct, 3 examples bound\n"


# ---------------------------------------------------------------- check


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_correct(name: str, capsys: pytest.CaptureFixture[str]):
    assert main(["check", name]) == 0
    assert f"mask {name} is correct" in capsys.readouterr().out


def test_check_draws_every_error_of_the_text_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = write(tmp_path, "mask m(n: int)\ntokens { S: nn }\nS sees T causal\n")
    assert main(["check", path]) == 1
    shown = capsys.readouterr().err
    assert f"{path}:2:13" in shown
    assert f"{path}:3:8" in shown
    assert "^" in shown


def test_check_binds_what_is_set(causal: str, capsys: pytest.CaptureFixture[str]):
    assert main(["check", causal, "--set", "n=3"]) == 0
    assert main(["check", causal, "--set", "n=-3"]) == 1
    assert "the length of `S` is -3" in capsys.readouterr().err


def test_check_binds_every_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = write(tmp_path, CAUSAL + "example good(n = 3)\nexample large(n = 2147483647)\n")
    assert main(["check", path]) == 0
    path = write(
        tmp_path,
        "mask m(a: int[], b: int[])\ntokens { S[i]: a[i] + b[i] }\nS[i] sees S[i]\nexample bad(a = [1, 2], b = [1])\n",
    )
    assert main(["check", path]) == 1
    assert "`a` has 2 items and `b` has 1 item" in capsys.readouterr().err


def test_check_and_show_report_assertions(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = "mask m(l: int[])\ntokens { D[i]: l[i] }\nD sees D causal\nassert causal\n"
    text += "assert D[i] never sees D[j] where i != j\nexample e(l = [2, 3])\n"
    path = write(tmp_path, text)
    assert main(["check", path]) == 1
    assert "error[CM604]" in capsys.readouterr().err
    assert main(["show", path]) == 1
    output = capsys.readouterr()
    assert "assert  causal: holds" in output.out
    assert "assert  D[i] never sees D[j] where i != j: does not hold" in output.out
    assert "query 2 (D[1]) sees key 0 (D[0])" in output.err
    assert main(["export", path]) == 1 and capsys.readouterr().out == ""
    assert main(["explain", path, "2", "0"]) == 0
    assert "visible" in capsys.readouterr().out
    assert main(["show", "documents"]) == 0
    assert "assert  D[i] never sees D[j] where i != j: holds" in capsys.readouterr().out


def test_format_prints_writes_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = write(tmp_path, "mask m(n:int)\ntokens{S:n}\nS  sees S\n")
    formatted = "mask m(n: int)\ntokens { S: n }\nS sees S\n"
    assert main(["format", path]) == 0
    assert capsys.readouterr().out == formatted
    assert main(["format", path, "--check"]) == 1
    assert "would change" in capsys.readouterr().err
    assert main(["format", path, "--write"]) == 0
    assert capsys.readouterr().out == "" and Path(path).read_text(encoding="utf-8") == formatted
    assert main(["format", path, "--check"]) == 0
    assert main(["format", "causal"]) == 0
    assert "S sees S causal" in capsys.readouterr().out
    assert main(["format", "causal", "--write"]) == 2
    assert "--write changes a file" in capsys.readouterr().err
    assert main(["format", write(tmp_path, "mask m(n: int)\ntokens { S: n\n")]) == 1
    assert "error[CM203]" in capsys.readouterr().err


def test_check_reads_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CAUSAL.encode())))
    assert main(["check", "-"]) == 0
    assert capsys.readouterr().out == "<stdin>: mask causal is correct\n"


# ---------------------------------------------------------------- show, explain, export


def test_show_draws_and_counts(causal: str, capsys: pytest.CaptureFixture[str]):
    assert main(["show", causal, "--set", "n=4", "--width", "16"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("█···\n██··\n███·\n████\n")
    assert "10 pairs, 62.500%" in shown
    assert compile(CAUSAL).bind(n=4).hash in shown


def test_show_says_what_it_guessed(causal: str, capsys: pytest.CaptureFixture[str]):
    assert main(["show", causal]) == 0
    found = capsys.readouterr()
    assert "n = 64" in found.out
    assert "no value was given for n; use --set" in found.err


def test_values_of_all_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = write(tmp_path, ALL_TYPES)
    assert main(["show", path, "--set", "a=3, 0,4", "b=true", "--set", "c=1"]) == 0
    assert "a = [3, 0, 4], b = true, c = 1" in capsys.readouterr().out
    assert main(["show", path, "--set", "a=", "b=false"]) == 0
    assert "a = [], b = false, c = 2" in capsys.readouterr().out


def test_an_example_can_be_chosen_and_changed(capsys: pytest.CaptureFixture[str]):
    assert main(["show", "streaming", "--example", "medium", "--set", "window=16"]) == 0
    assert "n = 8192, sink = 4, window = 16" in capsys.readouterr().out
    assert main(["check", "hstu", "--example", "large"]) == 0
    assert capsys.readouterr().out == "hstu.mask: mask hstu is correct\n"


def test_a_large_mask_is_shown_quickly(capsys: pytest.CaptureFixture[str]):
    assert main(["show", "causal", "--set", "n=1000000"]) == 0
    assert "500,000,500,000 pairs" in capsys.readouterr().out


def test_explain(capsys: pytest.CaptureFixture[str]):
    assert main(["explain", "shared_prompt", "70", "45"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("query 70 (R[1]) and key 45 (R[0]): hidden\n")
    assert "i = 1 for the query, but i = 0 for the key" in shown
    assert main(["explain", "causal", "3", "3"]) == 0
    assert "visible" in capsys.readouterr().out
    assert main(["explain", "causal", "64", "0"]) == 2
    assert capsys.readouterr().err == "compilemask: the query must lie in [0, 64), got 64\n"


@pytest.mark.parametrize("target", ["python", "numpy"])
def test_an_exported_file_runs(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out.py"
    assert main(["export", "hstu", "--to", target, "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"wrote {out}: 96 x 96, 4,791 visible pairs\n"
    done = subprocess.run([sys.executable, str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "visible pairs: 4791" in done.stdout
    assert main(["export", "hstu", "--to", target]) == 0
    assert capsys.readouterr().out == out.read_text()


# ---------------------------------------------------------------- slips


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "cuasal"], "'cuasal' is no file, and no preset is named 'cuasal'; did you mean 'causal'?"),
        (["show", "/"], "'/' is a folder, and no preset is named '/'; there are "),
        (["show", "a\0b"], "'a\\x00b' is no file, and no preset is named"),
        (["show", "causal", "--set", "n"], "--set wants NAME=VALUE, got 'n'; for example --set n=64"),
        (["show", "causal", "--set", "m=3"], "mask causal has no parameter 'm'; its parameters are n"),
        (["show", "causal", "--set", "n=3", "n=4"], "--set gives n twice"),
        (["show", "causal", "--set", "n=3.5"], "--set n=3.5: n is int and wants one integer"),
        (["show", "causal", "--set", "n="], "--set n=: n is int and wants one integer"),
        (["show", "documents", "--set", "lengths=3,,4"], "lengths is int[] and wants integers with commas between"),
        (["show", "causal", "--example", "huge"], "mask `causal` has no example `huge`; it has small, medium, large"),
        (["show", "causal", "--width", "1"], "--width must be at least 2, got 1"),
        (["export", "causal", "-o", "/nowhere/x.py"], "cannot write /nowhere/x.py: No such file or directory"),
    ],
)
def test_a_slip_is_one_message(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]):
    assert main(arguments) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith("compilemask: ")
    assert words in found.err
    assert found.err.count("\n") == 1


def test_what_is_no_text_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "binary.mask"
    path.write_bytes(b"mask \xff")
    assert main(["check", str(path)]) == 2
    assert "is not UTF-8 text (byte 5)" in capsys.readouterr().err
    path.write_bytes(b"#" * (2**20 + 1))
    assert main(["check", str(path)]) == 2
    assert "is larger than 1,048,576 bytes" in capsys.readouterr().err


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def missing(name: str) -> None:
        raise ModuleNotFoundError("no", name="uvicorn")

    monkeypatch.setattr("importlib.import_module", missing)
    assert main(["studio", "--port", "1"]) == 2
    assert "`studio` needs uvicorn, which is not installed" in (shown := capsys.readouterr().err)
    assert "pip install 'compilemask-studio[studio]'" in shown


def test_a_reader_that_leaves_is_no_error():
    code = f"{sys.executable} -m compilemask export clear --to numpy | head -n 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {code}"], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.startswith('"""Which keys each query sees')


def test_an_ascii_terminal_is_no_error():
    done = subprocess.run(
        [sys.executable, "-m", "compilemask", "show", "causal", "--set", "n=3"],
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_windows_line_ends_are_read(tmp_path: Path):
    path = tmp_path / "dos.mask"
    path.write_bytes(("\ufeff" + CAUSAL).replace("\n", "\r\n").encode())
    assert main(["check", str(path), "--set", "n=4"]) == 0


def test_a_preset_name_and_its_file_give_one_mask(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = write(tmp_path, preset_source("streaming"))
    main(["show", path])
    main(["show", "streaming"])
    first, second = capsys.readouterr().out.split("hash  ")[1:]
    assert first.split("\n")[0] == second.split("\n")[0]
