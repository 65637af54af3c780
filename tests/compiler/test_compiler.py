"""Texts to programs to masks, and everything that tools ask about them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from brute_force import visible_cells
from hypothesis import given, settings
from hypothesis import strategies as st

import compilemask
from compilemask.compiler import GUESSES, analyse, compile
from compilemask.diagnostics import MaskError
from compilemask.geometry import Trapezoids, normalize
from compilemask.presets import preset_names, preset_source
from compilemask.semantics.program import ParameterType

CAUSAL = "mask causal(n: int)\ntokens { S: n }\nS sees S causal\n"
EXCEPTING = "mask spared(n: int)\ntokens { S: n }\nS sees S k - q < 4 except k == 3\n"
SHARED = preset_source("shared_prompt")


# ---------------------------------------------------------------- the package


def test_every_public_name_is_there():
    for name in compilemask.__all__:
        assert getattr(compilemask, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'atention'"):
        _ = compilemask.atention


def test_importing_the_package_imports_no_torch_and_attention_does():
    code = (
        "import sys, compilemask\n"
        "program = compilemask.compile(compilemask.preset_source('hstu'))\n"
        "compilemask.plan_tiles(program.bind(**program.example()), 128, 128)\n"
        "assert 'torch' not in sys.modules and 'triton' not in sys.modules\n"
        "assert callable(compilemask.attention)\n"
        "assert 'torch' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_torch_attention_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None\nimport compilemask\ncompilemask.attention"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'compilemask-studio[attention]'" in done.stderr.splitlines()[-1]


# ---------------------------------------------------------------- compile and bind


def test_a_program_tells_what_the_text_declares():
    program = compile(SHARED)
    assert program.name == "shared_prompt"
    assert program.doc.startswith("Shared prompt")
    assert [parameter.name for parameter in program.parameters] == ["prompt", "responses", "padding"]
    assert program.example() == {"prompt": 40, "responses": (24, 32, 16), "padding": 8}
    assert program.example("large")["prompt"] == 8192
    with pytest.raises(ValueError, match="no example `huge`; it has small, medium, large"):
        program.example("huge")
    with pytest.raises(ValueError, match=r"has no example; add `example small\(n = 64\)`"):
        compile(CAUSAL).example()


def test_one_program_is_bound_many_times():
    program = compile(CAUSAL)
    assert [program.bind(n=n).visible_pairs for n in (0, 1, 2, 100)] == [0, 1, 3, 5050]
    assert program.bind(n=100) == program.bind(n=np.int32(100))


def test_defaults_are_filled_in():
    program = compile(preset_source("streaming"))
    assert program.bind(n=5000) == program.bind(n=5000, sink=4, window=1024)


def test_a_parameter_may_have_any_name_of_the_language():
    program = compile(
        "mask m(self: int, values: int[], source: bool)\ntokens { S[i]: values[i] + self }\nS[i] sees S[i] where source\n"
    )
    assert program.bind(self=1, values=[1, 2], source=True).visible_pairs == 4 + 9
    assert program.explain(0, 0, self=1, values=[1, 2], source=True).visible


def test_all_errors_of_a_text_come_at_once_with_the_name_of_the_file():
    with pytest.raises(MaskError) as caught:
        compile("mask m(n: int)\ntokens { S: nn }\nS sees T causal\nS sees S where k <\n", filename="mine.mask")
    assert len(caught.value.diagnostics) >= 3
    assert str(caught.value).count("--> mine.mask:") == len(caught.value.diagnostics)
    with pytest.raises(MaskError, match=r"--> mine\.mask:2:13"):
        compile(CAUSAL, filename="mine.mask").bind(n=-1)


def test_warnings_of_the_text_do_not_stop_it():
    program = compile("mask m(n: int, unused: int = 3)\ntokens { S: n }\nS sees S causal\n")
    assert [message.code for message in program.warnings] == ["CM501"]
    assert program.bind(n=4).visible_pairs == 10


# ---------------------------------------------------------------- regions and rules


def test_regions_are_listed_with_their_instances():
    lowered = compile(SHARED).lower(prompt=3, responses=[2, 0, 4], padding=1)
    assert [(span.name, span.label, span.start, span.stop) for span in lowered.queries] == [
        ("P", "P", 0, 3),
        ("R", "R[0]", 3, 5),
        ("R", "R[1]", 5, 5),
        ("R", "R[2]", 5, 9),
        ("pad", "pad", 9, 10),
    ]
    assert lowered.keys is lowered.queries


def test_nested_regions_are_named_by_their_path():
    text = "mask m(a: int[])\nqueries { doc[i] { P: 1; R[j < a[i]]: 2 } }\nkeys { K: 5 }\ndoc[i].P sees K\n"
    lowered = compile(text).lower(a=[2, 1])
    assert [span.label for span in lowered.queries] == [
        "doc[0].P",
        "doc[0].R[0]",
        "doc[0].R[1]",
        "doc[1].P",
        "doc[1].R[0]",
    ]
    assert [span.name for span in lowered.queries][:2] == ["doc.P", "doc.R"]
    assert [(span.start, span.stop) for span in lowered.queries] == [(0, 1), (1, 3), (3, 5), (5, 6), (6, 8)]
    assert [span.label for span in lowered.keys] == ["K"]


@pytest.mark.parametrize("name", preset_names())
def test_the_rules_together_are_the_mask(name: str):
    program = compile(preset_source(name))
    lowered = program.lower(**program.example())
    union = normalize(Trapezoids.concat([rule.trapezoids() for rule in lowered.rule_sets]))
    assert union.equal(lowered.descriptor.runs)
    assert len(lowered.rule_sets) == len(program._checked.rules)


# ---------------------------------------------------------------- explain


def test_an_explanation_names_the_rule_and_its_line():
    answer = compile(SHARED).explain(70, 10, prompt=40, responses=[24, 32, 16])
    assert (answer.visible, answer.q_region, answer.k_region) == (True, "R[1]", "P")
    (match,) = answer.matches
    assert (match.number, match.line, match.text) == (1, 16, "R[i] sees P")
    assert SHARED[match.span.start : match.span.stop] == "R[i] sees P"
    assert "visible" in str(answer)


@pytest.mark.parametrize(
    ("text", "values", "cell", "reason", "distance"),
    [
        (CAUSAL, {"n": 9}, (3, 5), "`causal` is false", 1),
        (SHARED, {"prompt": 4, "responses": [3, 3]}, (8, 5), "i = 1 for the query, but i = 0 for the key", 2),
        (SHARED, {"prompt": 4, "responses": [3], "padding": 2}, (8, 0), "query 8 is in pad, not in P", 3),
        (preset_source("streaming"), {"n": 90, "window": 8}, (50, 20), "`k < sink or q - k < window` is false", 1),
        (EXCEPTING, {"n": 7}, (3, 3), "`k == 3` is true, and excepted", 1),
        (EXCEPTING, {"n": 7}, (0, 5), "`k - q < 4` is false: 5 and 4", 1),
        (EXCEPTING.replace("k == 3", "(k == 3 or k == 5)"), {"n": 7}, (3, 3), "is true, and excepted", 1),
        (EXCEPTING.replace("k == 3", "not k < 3"), {"n": 7}, (3, 3), "`not k < 3` is true, and excepted", 1),
        (EXCEPTING.replace("k - q < 4 ", ""), {"n": 7}, (0, 3), "`k == 3` is true, and excepted", 1),
        (EXCEPTING.replace("except", "and not"), {"n": 7}, (3, 3), "`not k == 3` is false", 1),
        (preset_source("video"), {"chunks": 9, "tokens_per_chunk": 4, "window": 2}, (20, 9), "`i - j < window` is false: 3 and 2", 1),
    ],
)  # fmt: skip
def test_a_hidden_cell_has_a_reason(
    text: str, values: dict[str, Any], cell: tuple[int, int], reason: str, distance: int
):
    answer = compile(text).explain(*cell, **values)
    assert not answer.visible
    nearest = answer.misses[0]
    assert nearest.reason is not None
    assert reason in nearest.reason
    assert nearest.distance == distance
    assert nearest.reason in str(answer)


def test_cells_outside_of_the_mask_are_refused():
    program = compile(CAUSAL)
    with pytest.raises(ValueError, match=r"the query must lie in \[0, 4\), got 4"):
        program.explain(4, 0, n=4)
    with pytest.raises(ValueError, match=r"the key must lie in \[0, 4\), got -1"):
        program.explain(0, -1, n=4)
    with pytest.raises(ValueError, match=r"the key must be an integer, got 1\.0"):
        program.explain(0, 1.0, n=4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"the query must be an integer, got True"):
        program.explain(True, 0, n=4)


def test_a_cell_may_be_named_by_integers_of_numpy():
    program = compile(CAUSAL)
    answer = program.explain(np.int64(2), np.uint8(3), n=4)
    assert answer == program.explain(2, 3, n=4)
    assert type(answer.q) is int and type(answer.k) is int


# ---------------------------------------------------------------- analyse


def test_analysis_takes_the_first_example_then_defaults_then_guesses():
    analysis = analyse(SHARED)
    assert analysis.values == {"prompt": 40, "responses": (24, 32, 16), "padding": 8}
    assert analysis.assumed == ()
    analysis = analyse(
        "mask m(n: int, a: int[], b: bool, c: int = 5)\ntokens { S: n; D[i]: a[i] + c }\nS sees D where b\n"
    )
    assert analysis.values == {"n": 64, "a": (16, 24, 8), "b": False, "c": 5}
    assert analysis.assumed == ("n", "a", "b")
    assert analysis.lowered is not None
    assert {64, False, (16, 24, 8)} <= set(GUESSES.values())
    assert set(GUESSES) == set(ParameterType)


def test_values_that_are_enough_are_bound_as_they_are():
    analysis = analyse(SHARED, {"prompt": 5, "responses": [1, 2]})
    assert analysis.values == {"prompt": 5, "responses": (1, 2), "padding": 0}
    analysis = analyse(SHARED, {"prompt": 5})
    assert analysis.values == {"prompt": 5, "responses": (24, 32, 16), "padding": 8}


def test_analysis_agrees_with_compile():
    for name in preset_names():
        analysis, program = analyse(preset_source(name)), compile(preset_source(name))
        assert analysis.program is not None
        assert analysis.lowered is not None
        assert analysis.lowered.descriptor == program.bind(**program.example())
        np.testing.assert_array_equal(
            analysis.lowered.descriptor.dense(), visible_cells(program._checked, program.example())
        )
        assert min(analysis.check_ms, analysis.bind_ms) > 0


def test_wrong_values_are_diagnostics():
    analysis = analyse(CAUSAL, {"n": -3, "m": [1]})
    assert (analysis.lowered, [message.code for message in analysis.diagnostics]) == (None, ["CM402"])
    analysis = analyse(CAUSAL, {"n": "3"})
    assert (analysis.lowered, [message.code for message in analysis.diagnostics]) == (None, ["CM403"])
    assert analysis.values == {}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_analysis_never_raises(data: st.DataObject):
    """Presets with a stretch of text removed, doubled or replaced, and values of any type."""
    source = preset_source(data.draw(st.sampled_from(preset_names())))
    start = data.draw(st.integers(0, len(source)))
    stop = data.draw(st.integers(start, min(len(source), start + 12)))
    middle = data.draw(st.sampled_from(["", source[start:stop] * 2, "0", "-", "[i]", "where", "}", "\0", "é"]))
    small = st.integers(-2, 40)
    value = st.one_of(small, st.booleans(), st.lists(small, max_size=4), st.none(), st.text(max_size=3))
    values = data.draw(st.dictionaries(st.sampled_from(["n", "lengths", "blocks", "prompt", "x"]), value, max_size=2))
    analysis = analyse(source[:start] + middle + source[stop:], values)
    failed = any(message.severity == "error" for message in analysis.diagnostics)
    assert (analysis.lowered is None) == failed
    assert [m.span.start for m in analysis.diagnostics] == sorted(m.span.start for m in analysis.diagnostics)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=60))
def test_any_text_at_all_is_analysed(source: str):
    assert analyse(source).lowered is None
