"""The command line with parameters that differ per item and head."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from compilemask.cli import main
from compilemask.compiler import compile

TEXT = """mask m(n: int, prefix: int per item in 0.., a: int[] per item = [1], wide: bool per head = false)
tokens { S: n; D[i]: a[i] }
S sees S causal or wide or k < prefix
D sees S
assert visible < 60
example served(n = 6, prefix = [2, 0], wide = [true, false])
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "m.mask"
    file.write_text(TEXT)
    return str(file)


def test_check_binds_all_items(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", path]) == 0
    shown = capsys.readouterr()
    assert "is correct, 1 example bound" in shown.out and "CM540" not in shown.err
    assert main(["check", path, "--set", "n=6", "prefix=[0,0]", "a=[[1],[9]]"]) == 1
    shown = capsys.readouterr()
    assert "CM606" in shown.err and "(item 1)" in shown.err and "correct" not in shown.out


@pytest.mark.parametrize("setting", ["prefix=2,0,3", "prefix=[2,0,3]"])
def test_show_draws_the_first_and_says_so(setting: str, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", path, "--set", "n=6", setting, "wide=false"]) == 0
    shown = capsys.readouterr()
    assert "these values give a batch of 3 items; this is the mask of item 0" in shown.err
    assert "values  n = 6, prefix = [2, 0, 3]" in shown.out


def test_export_writes_all_masks_or_refuses(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", path, "--set", "n=6", "prefix=[2,0]", "a=[[1],[2]]", "wide=[true,false]"]) == 0
    module: dict[str, Any] = {"__name__": "exported"}
    exec(builtins.compile(capsys.readouterr().out, "m.py", "exec"), module)
    values = {"n": 6, "prefix": [2, 0], "a": [[1], [2]], "wide": [True, False]}
    assert module["mask"]() == compile(TEXT).bind(**values)
    assert main(["export", path, "--to", "numpy", "--set", "n=6", "prefix=2,0", "wide=false"]) == 2
    assert "a NumPy module holds one mask" in capsys.readouterr().err
    assert main(["export", path, "--to", "numpy", "--set", "n=6", "prefix=2", "wide=false"]) == 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["n=6", "prefix=2,-1"], "`prefix[1]` got -1, which is less than 0"),
        (["n=6", "prefix=2,1", "a=[[1],[2],[3]]"], "`prefix` has values for 2 items, but `a` has values for 3 items"),
    ],
)
def test_lists_that_do_not_fit_are_drawn(
    settings: list[str], words: str, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", path, "--set", *settings]) == 1
    assert words in capsys.readouterr().err


def test_explain_is_about_the_own_size_of_an_item(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["--set", "n=2", "prefix=[0,0]", "a=[[1],[4]]", "wide=false"]
    assert main(["explain", path, "5", "0", "--item", "1", *settings]) == 0
    assert main(["explain", path, "5", "0", "--item", "0", *settings]) == 2
    assert (
        "the query must lie in [0, 3), got 5; the mask of item 0, head 0 has 3 queries and 3 keys"
        in capsys.readouterr().err
    )
    batch = compile(TEXT).bind(n=2, prefix=[0, 0], a=[[1], [4]], wide=False)
    assert batch.mask(0, 0).dense().shape == (6, 6) and not batch.mask(0, 0).dense()[3:].any()
