"""An exported Python module rebuilds the same mask in a fresh process, whatever stands in the text."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.compiler import compile
from compilemask.descriptor import MaskDescriptor
from compilemask.export import python_source
from compilemask.presets import preset_names, preset_source

CAUSAL = "mask causal(n: int)\ntokens { S: n }\nS sees S causal\n"

READ_ROWS = """
import importlib.util, json, sys
results = {}
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    mask = module.mask()
    results[path] = [part.tolist() for part in mask.row_intervals()] + [mask.q_len, mask.kv_len, module.SOURCE]
assert "torch" not in sys.modules
print(json.dumps(results))
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120)


def exported(source: str, values: dict[str, object]) -> tuple[str, MaskDescriptor]:
    program = compile(source)
    descriptor = program.bind(**values)
    return python_source(program.name, source, values, descriptor), descriptor


def test_every_preset_comes_back_row_by_row(tmp_path: Path):
    expected = {}
    for name in preset_names():
        program = compile(preset_source(name))
        for example in program.examples[:2]:
            text, descriptor = exported(program.source, dict(example.values))
            path = tmp_path / f"{name}_{example.name}.py"
            path.write_text(text, encoding="ascii")
            expected[str(path)] = (descriptor, program.source)
    done = run("-c", READ_ROWS, *expected)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == set(expected)
    for path, (descriptor, source) in expected.items():
        indptr, lo, hi, q_len, kv_len, text = found[path]
        for got, wanted in zip((indptr, lo, hi), descriptor.row_intervals(), strict=True):
            np.testing.assert_array_equal(got, wanted)
        assert (q_len, kv_len, text) == (descriptor.q_len, descriptor.kv_len, source)


def test_running_the_module_prints_the_same_visible_pairs(tmp_path: Path):
    text, descriptor = exported(CAUSAL, {"n": 77})
    path = tmp_path / "mask.py"
    path.write_text(text)
    done = run(str(path))
    assert done.returncode == 0, done.stderr
    assert f"visible pairs: {descriptor.visible_pairs} " in done.stdout
    assert descriptor.hash in done.stdout


def test_an_edited_module_says_that_it_is_another_mask(tmp_path: Path):
    text, _ = exported(CAUSAL, {"n": 77})
    path = tmp_path / "mask.py"
    path.write_text(text.replace("'n': 77", "'n': 78"))
    done = run(str(path))
    assert done.returncode == 1
    assert "makes another mask of this text than the one that was exported" in done.stderr.splitlines()[-1]


HOSTILE = [
    "# '''\n",
    '# """ + __import__("os").system("echo pwned") + """\n',
    "# \\\n",
    "# \\N{BULLET} \\x00 \\u2028 {name} {{0}} %s\n",
    "# \u2028 \u2029 \x0b \x0c \x1c é 漢字 🎭 \ufeff\n",
    "# ends with a quote '",
    '#"',
]


@pytest.mark.parametrize("comment", HOSTILE)
def test_hostile_text_stays_text(comment: str, tmp_path: Path):
    descriptor = compile(CAUSAL).bind(n=3)
    text = python_source("causal", CAUSAL + comment, {"n": 3}, descriptor)
    assert text.isascii()
    constants = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign)
    }
    assert constants["SOURCE"] == CAUSAL + comment
    assert set(constants) == {"NAME", "SOURCE", "VALUES", "EXPECTED_HASH"}


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"), max_size=20))
def test_any_text_and_name_survive(source: str, name: str):
    descriptor = compile(CAUSAL).bind(n=2)
    text = python_source(name, source, {"n": 2}, descriptor)
    assigned = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign)
    }
    assert (assigned["NAME"], assigned["SOURCE"], assigned["VALUES"]) == (name, source, {"n": 2})


def test_lists_flags_and_long_lists_are_written_as_literals():
    source = "mask m(a: int[], b: bool)\ntokens { S[i]: a[i] }\nS[i] sees S[i] where b\n"
    values = {"a": list(range(3000)), "b": True}
    text, _ = exported(source, values)
    assert max(map(len, text.splitlines())) <= 130
    assigned = {n.targets[0].id: ast.literal_eval(n.value) for n in ast.parse(text).body if isinstance(n, ast.Assign)}
    assert assigned["VALUES"] == values


@pytest.mark.parametrize("value", ["3", 2.5, [1, "2"], [[1], 2], b"1"])
def test_a_value_that_is_no_integer_is_refused(value: object):
    descriptor = compile(CAUSAL).bind(n=2)
    with pytest.raises(TypeError, match="values are integers"):
        python_source("causal", CAUSAL, {"n": value}, descriptor)  # type: ignore[dict-item]
