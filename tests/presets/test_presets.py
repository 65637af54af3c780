"""Every preset is a text that a newcomer can learn from: documented, with examples that draw well."""

from __future__ import annotations

import pytest
from language_programs import CORE, checked, errors_of, show

from compilemask.compiler import compile
from compilemask.presets import preset_names, preset_source
from compilemask.semantics.program import CheckedMask, Region

BY_TOKEN = {"moba", "random_eviction"}
"""Presets with a list that has an item for each token: longer than anybody writes."""


def meaning(mask: CheckedMask) -> object:
    """Regions and rules without places and documentation."""

    def region(r: Region) -> object:
        return (r.name, r.index, show(r.count), [show(n) for n in r.extent], [region(c) for c in r.children])

    axes = [[region(r) for r in axis.regions] for axis in (mask.queries, mask.keys) if axis is not None]
    rules = [
        ([(r.path, r.indices) for r in rule.queries], [(r.path, r.indices) for r in rule.keys], show(rule.condition))
        for rule in mask.rules
    ]
    return ([(p.name, p.type) for p in mask.parameters], axes, rules)


@pytest.mark.parametrize("name", CORE)
def test_the_core_presets_are_the_core_programs(name: str) -> None:
    assert meaning(checked(preset_source(name))) == meaning(checked(CORE[name]))


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_is_documented(name: str) -> None:
    assert errors_of(preset_source(name)) == []
    mask = checked(preset_source(name))
    title, blank, *text = mask.doc.split("\n")
    assert 3 <= len(title) <= 40 and not title.endswith(".")
    assert blank == "" and len(" ".join(text)) > 80
    assert mask.name == name
    assert all(parameter.doc for parameter in mask.parameters)
    assert not any(line.strip().startswith("# ") for line in preset_source(name).split("\n")[:1])


@pytest.mark.parametrize("name", preset_names())
def test_the_examples_of_a_preset_draw_well_and_scale(name: str) -> None:
    program = compile(preset_source(name))
    if name in BY_TOKEN:
        assert [example.name for example in program.examples] == ["small"]
        assert 60 <= program.bind(**program.example()).kv_len <= 300
        return
    assert [example.name for example in program.examples] == ["small", "medium", "large"]
    sizes = []
    for example in program.examples:
        mask = program.bind(**dict(example.values))
        assert mask.visible_pairs > 0
        sizes.append(max(mask.q_len, mask.kv_len))
    small, medium, large = sizes
    assert 60 <= small <= 300
    assert 2_000 <= medium <= 10_000
    assert 16_000 <= large <= 36_000


def test_the_large_examples_are_the_shapes_that_are_measured() -> None:
    def large(name: str) -> tuple[int, int]:
        program = compile(preset_source(name))
        mask = program.bind(**program.example("large"))
        return mask.q_len, mask.kv_len

    for name in ("causal", "streaming", "documents", "prefix_lm", "shared_prompt", "hstu", "clear", "bd3lm"):
        assert large(name) == (32_768, 32_768)
    assert large("video") == (32_760, 32_760)
    assert large("decode") == (2_048, 32_768)


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"no preset is named 'casual'; did you mean 'causal'\?"):
        preset_source("casual")
    with pytest.raises(ValueError, match=r"no preset is named .\.\./secret.; there are "):
        preset_source("../secret")


@pytest.mark.parametrize("name", [5, None, ["causal"]])
def test_the_name_of_a_preset_is_a_string(name: object) -> None:
    with pytest.raises(TypeError, match="a preset's name is a string, such as 'causal', got"):
        preset_source(name)  # type: ignore[arg-type]


def test_names_are_in_order() -> None:
    assert list(preset_names()) == sorted(preset_names())
    assert set(CORE) <= set(preset_names())
