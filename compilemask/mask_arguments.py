"""A mask and its numbers as a command line gives them: a path, "-" or a preset, and NAME=VALUE settings."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from compilemask.compiler import MaskProgram
from compilemask.lowering import sample
from compilemask.presets import preset_source
from compilemask.semantics.program import PER_TYPES, Parameter, ParameterType

MAX_FILE_BYTES = 2**20


class UsageError(Exception):
    """What is wrong with the command line, in one message for the terminal."""


def given_values(program: MaskProgram, example: str | None, settings: Sequence[str]) -> dict[str, object]:
    """The values of the named example, with those of the NAME=VALUE settings over them."""
    try:
        values: dict[str, object] = dict(program.example(example)) if example is not None else {}
    except ValueError as problem:
        raise UsageError(str(problem)) from None
    return values | read_values(settings, program)


def read_mask(name: str) -> tuple[str, str]:
    """(text, name for messages) of a path, "-" or a preset."""
    if name == "-":
        return _decoded(sys.stdin.buffer.read(MAX_FILE_BYTES + 1), "<stdin>"), "<stdin>"
    path = Path(name)
    try:
        if path.is_file():
            with path.open("rb") as file:
                return _decoded(file.read(MAX_FILE_BYTES + 1), name), name
    except OSError as problem:
        raise UsageError(f"cannot read {name}: {problem.strerror or problem}") from None
    except ValueError:
        # a path with a null character names no file
        pass
    try:
        return preset_source(name), f"{name}.mask"
    except ValueError as problem:
        what = "is a folder" if path.is_dir() else "is no file"
        raise UsageError(f"{name!a} {what}, and {problem}") from None


def _decoded(data: bytes, name: str) -> str:
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"{name} is larger than {MAX_FILE_BYTES:,} bytes; a mask is a few lines of text")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        raise UsageError(f"{name} is not UTF-8 text (byte {problem.start}); save it as UTF-8") from None


def read_values(settings: Sequence[str], program: MaskProgram) -> dict[str, object]:
    """The values of --set, by the types of the parameters. UsageError for what cannot be read."""
    kinds = {parameter.name: parameter for parameter in program.parameters}
    values: dict[str, object] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        if not equals:
            raise UsageError(f"--set wants NAME=VALUE, got {setting!a}; for example --set n=64")
        if name in values:
            raise UsageError(f"--set gives {name} twice")
        if name not in kinds:
            known = f"its parameters are {', '.join(kinds)}" if kinds else "it has none"
            raise UsageError(f"mask {program.name} has no parameter {name!a}; {known}")
        values[name] = _read_value(kinds[name], text.strip())
    return values


def _read_value(parameter: Parameter, text: str) -> object:
    spread = text.startswith("[[") or (parameter.type.depth == 0 and (text.startswith("[") or "," in text))
    if parameter.per is not None and spread:
        return _read_value(replace(parameter, type=PER_TYPES[parameter.type], per=None), text)
    match parameter.type:
        case ParameterType.BOOL:
            if text.lower() in ("true", "false"):
                return text.lower() == "true"
            wanted = "true or false"
        case ParameterType.INT:
            if re.fullmatch(r"[+-]?\d{1,30}", text):
                return int(text)
            wanted = "one integer"
        case ParameterType.INT_LIST:
            inside = text[1:-1] if text.startswith("[") and text.endswith("]") else text
            items = [item.strip() for item in inside.split(",")] if inside.strip() else []
            if all(re.fullmatch(r"[+-]?\d{1,30}", item) for item in items):
                return [int(item) for item in items]
            wanted = "integers with commas between, as 3,4,5"
        case ParameterType.BOOL_LIST | ParameterType.INT_TABLE | ParameterType.BOOL_TABLE:
            try:
                return json.loads(text)
            except (json.JSONDecodeError, RecursionError):
                wanted = f"a list, as {sample(parameter.type)}"
    raise UsageError(f"--set {parameter.name}={text}: {parameter.name} is {parameter.type.value} and wants {wanted}")
