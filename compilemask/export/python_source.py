"""A Python module that compiles the mask text again and proves that it is the same mask."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.export.literals import Value, text_literal, values_literal

_TEMPLATE = '''"""{title} of {q_len} queries and {kv_len} keys, {visible_pairs} visible pairs, written by CompileMask Studio.

Needs compilemask (`pip install compilemask-studio`); `attend` also needs PyTorch (`compilemask-studio[attention]`).
Run it to see what it holds: `python THIS_FILE.py`.
"""

from functools import cache

import compilemask

NAME = {name}

SOURCE = {source}

VALUES = {values}

EXPECTED_HASH = "{hash}"


@cache
def mask() -> compilemask.{kind}:
    """The mask, compiled from SOURCE and VALUES; RuntimeError if it is not the one that was exported."""
    descriptor = compilemask.compile(SOURCE, filename=NAME).bind(**VALUES)
    if descriptor.hash != EXPECTED_HASH:
        raise RuntimeError(
            f"compilemask {{compilemask.__version__}} makes another mask of this text than the one that was exported: "
            f"its hash is {{descriptor.hash}}, and EXPECTED_HASH is {{EXPECTED_HASH}}; "
            "export it again, or restore SOURCE and VALUES if they were edited"
        )
    return descriptor


def attend(q, k, v, **options):
    """Attention under this mask. q, k, v: [batch, heads, len, head_dim]; options: those of compilemask.attention."""
    return compilemask.attention(q, k, v, mask(), **options)


if __name__ == "__main__":
    found = mask()
    print(f"{{NAME}}: {{found.q_len}} queries x {{found.kv_len}} keys")
    print(f"visible pairs: {{found.visible_pairs}} ({{found.density:.4%}})")
    print(f"hash: {{found.hash}}")
'''


def python_source(
    program_name: str, source: str, values: Mapping[str, Value], descriptor: MaskDescriptor | MaskBatch
) -> str:
    """The text of a module with `mask()`, which returns what `descriptor` is, and `attend(q, k, v, **options)`.

    source: the mask text, values: the numbers bound to it, descriptor: what they gave, whose hash the module checks.
    The module is pure ASCII; nothing in name, text or values can be taken for code. TypeError for values of other types.
    """
    title = "An attention mask"
    if isinstance(descriptor, MaskBatch):
        title = f"{descriptor.num_items} x {descriptor.num_heads} (items x heads) attention masks"
    module = _TEMPLATE.format(
        title=title,
        kind=type(descriptor).__name__,
        q_len=descriptor.q_len,
        kv_len=descriptor.kv_len,
        visible_pairs=descriptor.visible_pairs,
        name=ascii(program_name),
        source=text_literal(source),
        values=values_literal(values),
        hash=descriptor.hash,
    )
    _check_literal(module, "SOURCE", source)
    return module


def _check_literal(module: str, name: str, expected: str) -> None:
    """Reads the module back: the constant must be exactly the given text."""
    for node in ast.parse(module).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            found = ast.literal_eval(node.value)
            if found != expected:
                raise ValueError(f"{name} does not survive being written as a literal")
