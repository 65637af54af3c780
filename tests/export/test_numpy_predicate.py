"""An exported NumPy module needs no compilemask and answers every cell like the mask."""

from __future__ import annotations

import subprocess
import sys
import time
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
    assert module.count_visible() == descriptor.visible_pairs


@pytest.mark.parametrize(
    ("name", "values"),
    [("causal", {"n": 2**31 - 1}), ("documents", {"lengths": [333] * 3000}), ("streaming", {"n": 10**9, "window": 7})],
)
def test_a_long_mask_is_counted_by_its_intervals(name: str, values: dict[str, object]):
    descriptor = compile(preset_source(name)).bind(**values)
    module = loaded(numpy_source(descriptor))
    start = time.thread_time()
    assert module.count_visible() == descriptor.visible_pairs
    assert time.thread_time() - start < 2


@pytest.mark.parametrize(("array", "change"), [("LO_OFFSET", 1), ("HI_OFFSET", 9), ("PIECE_STOP", -1)])
def test_an_edited_module_says_so_or_counts_what_it_answers(array: str, change: int):
    descriptor = compile(preset_source("hstu")).bind(context=4, history=20, targets=8)
    module = loaded(numpy_source(descriptor))
    getattr(module, array)[1] += change
    q, k = np.arange(module.Q_LEN)[:, None], np.arange(-40, module.KV_LEN + 40)[None, :]
    try:
        assert module.count_visible() == module.allowed(q, k).sum()
    except RuntimeError as problem:
        assert str(problem) == "this module was edited: its arrays do not describe one mask"


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
