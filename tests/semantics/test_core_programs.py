"""The ten core programs are accepted as they are written, and mean what they say."""

from __future__ import annotations

import pytest
from language_programs import CORE, checked, errors_of, show

from compilemask.semantics.program import Element, InstanceIndex, ListFold, ParameterType, RegionReference


@pytest.mark.parametrize("name", CORE)
def test_a_core_program_is_accepted_without_a_message(name: str) -> None:
    mask = checked(CORE[name])
    assert mask.name == name
    assert mask.source == CORE[name]
    assert errors_of(CORE[name]) == []


def rules(name: str) -> list[str]:
    def reference(r: RegionReference) -> str:
        return ".".join(r.path) + (f"[{','.join(r.indices)}]" if r.indices else "")

    return [
        f"{' '.join(map(reference, rule.queries))} | {' '.join(map(reference, rule.keys))} | {show(rule.condition)}"
        for rule in checked(CORE[name]).rules
    ]


def test_rules_of_the_core_programs() -> None:
    assert rules("causal") == ["S | S | causal"]
    assert rules("streaming") == ["S | S | all{causal, any{(k < sink), ((q - k) < window)}}"]
    assert rules("documents") == ["D[i] | D[i] | causal"]
    assert rules("prefix_lm") == [
        "doc.P[i] | doc.P[i] | always",
        "doc.T[i] | doc.P[i] | always",
        "doc.T[i] | doc.T[i] | causal",
    ]
    assert rules("shared_prompt") == ["P | P | causal", "R[i] | P | always", "R[i] | R[i] | causal"]
    assert rules("hstu") == ["C | C H | always", "H | C | always", "H | H | causal", "T | C H | always", "T | T | same"]
    assert rules("clear")[2] == (
        "img | img | ((((k.0 - q.0) * (k.0 - q.0)) + ((k.1 - q.1) * (k.1 - q.1))) < (radius * radius))"
    )
    assert rules("bd3lm") == ["N[i] | N[i] | always", "N[i] | C[j] | (j < i)", "C[i] | C[j] | (j <= i)"]
    assert rules("decode") == ["Q | K | causal-end"]
    assert rules("video") == ["F[i] | F[j] | all{(j <= i), ((i - j) < window)}"]


def test_regions_of_the_core_programs() -> None:
    (doc,) = checked(CORE["prefix_lm"]).queries.regions
    assert (doc.name, doc.index, doc.extent, doc.counted_by) == ("doc", "i", (), ("prefix", "rest"))
    assert isinstance(doc.count, ListFold) and (doc.count.fold, doc.count.name) == ("len", "prefix")
    assert [child.name for child in doc.children] == ["P", "T"]
    (size,) = doc.children[1].extent
    assert isinstance(size, Element) and isinstance(size.index, InstanceIndex) and show(size) == "rest[i]"

    text, image = checked(CORE["clear"]).queries.regions
    assert [show(n) for n in text.extent] == ["text"]
    assert [show(n) for n in image.extent] == ["height", "width"]

    noisy, _ = checked(CORE["bd3lm"]).queries.regions
    assert (noisy.index, show(noisy.count), noisy.counted_by) == ("i", "blocks", ())

    decode = checked(CORE["decode"])
    assert decode.keys is not None
    assert [r.name for r in decode.queries.regions] == ["Q"] and [r.name for r in decode.keys.regions] == ["K"]
    assert checked(CORE["causal"]).keys is None


def test_parameters_of_the_core_programs() -> None:
    streaming = {p.name: (p.type, p.default) for p in checked(CORE["streaming"]).parameters}
    assert streaming == {
        "n": (ParameterType.INT, None),
        "sink": (ParameterType.INT, 4),
        "window": (ParameterType.INT, 1024),
    }
    assert checked(CORE["documents"]).parameters[0].type is ParameterType.INT_LIST


def test_spans_mark_the_words_they_stand_for() -> None:
    mask = checked(CORE["shared_prompt"])

    def marked(node) -> str:
        return mask.source[node.span.start : node.span.stop]

    assert [marked(p) for p in mask.parameters] == ["prompt: int", "responses: int[]", "padding: int = 0"]
    assert [marked(r) for r in mask.queries.regions] == ["P: prompt", "R[i]: responses[i]", "pad: padding"]
    assert [marked(r) for r in mask.rules] == ["P    sees P causal", "R[i] sees P", "R[i] sees R[i] causal"]
    assert marked(mask.rules[2].queries[0]) == "R[i]"
    assert marked(mask.rules[2].condition) == "causal"
    assert marked(mask) == mask.source
