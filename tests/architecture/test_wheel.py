"""The wheel is looked into: it must carry the library, the presets, the migrations and the built studio."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = out.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


@pytest.mark.parametrize(
    "wanted",
    [
        "compilemask/__init__.py",
        "compilemask/presets/hstu.mask",
        "compilemask/py.typed",
        "compilemask_studio/main.py",
        "compilemask_studio/migrations/env.py",
        "compilemask_studio/_static/index.html",
    ],
)
def test_the_wheel_carries(names: list[str], wanted: str) -> None:
    assert wanted in names


def test_the_wheel_carries_the_scripts_of_the_page_once(names: list[str]) -> None:
    scripts = [name for name in names if name.startswith("compilemask_studio/_static/") and name.endswith(".js")]
    assert scripts
    assert len(names) == len(set(names))


def test_the_wheel_installs_no_package_of_a_general_name(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"compilemask", "compilemask_studio"}
