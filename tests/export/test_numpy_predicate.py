"""An exported NumPy module needs no compilemask and answers every cell like the mask."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from random_programs import Program, programs

from compilemask.compiler import compile
from compilemask.export import numpy_predicate, numpy_source
from compilemask.presets import preset_names, preset_source


def loaded(text: str) -> ModuleType:
    module = ModuleType("exported")
    exec(builtin_compile(text, "exported.py", "exec"), module.__dict__)
    return module


builtin_compile = __builtins__["compile"] if isinstance(__builtins__, dict) else __builtins__.compile


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_answers_cell_by_cell(name: str):
    program = compile(preset_source(name))
    descriptor = program.bind(**program.example())
    module = loaded(numpy_source(descriptor))
    q, k = np.arange(descriptor.q_len)[:, None], np.arange(descriptor.kv_len)[None, :]
    np.testing.assert_array_equal(module.allowed(q, k), descriptor.dense())
    assert descriptor.hash == module.MASK_HASH


@settings(max_examples=60, deadline=None, derandomize=True)
@given(programs())
def test_random_masks_answer_cell_by_cell_and_hide_the_outside(program: Program):
    descriptor = compile(program.source).bind(**program.values)
    module = loaded(numpy_source(descriptor))
    q, k = np.arange(-2, descriptor.q_len + 2)[:, None], np.arange(-2, descriptor.kv_len + 2)[None, :]
    expected = np.pad(descriptor.dense(), 2)
    np.testing.assert_array_equal(module.allowed(q, k), expected)


def test_it_runs_where_compilemask_is_not_installed(tmp_path: Path):
    program = compile(preset_source("clear"))
    descriptor = program.bind(**program.example())
    path = tmp_path / "mask.py"
    path.write_text("import sys\nsys.modules['compilemask'] = None\n" + numpy_source(descriptor))
    done = subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert f"visible pairs: {descriptor.visible_pairs}\n" in done.stdout


def test_a_mask_of_too_many_intervals_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(numpy_predicate, "MAX_EXPORTED_RUNS", 3)
    descriptor = compile("mask d(l: int[])\ntokens { D[i]: l[i] }\nD[i] sees D[i]\n").bind(l=[1, 2, 3, 4])
    with pytest.raises(ValueError, match="4 intervals"):
        numpy_source(descriptor)
