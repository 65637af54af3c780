"""What all shapes share: mask values, names of states, the two kinds of models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator
from pydantic_core import PydanticCustomError

MAX_SOURCE_CHARS = 64_000
MAX_VALUE_ITEMS = 100_000

ValueTypes = bool | int | list[int] | list[bool] | list[list[int]] | list[list[bool]]


def _mask_value(value: object) -> object:
    """One strict reading of the whole union, and one message for it in place of one for each of its members."""
    if type(value) in (bool, int):
        return value
    if isinstance(value, list):
        rows = value if value and all(isinstance(row, list) for row in value) else [value]
        if sum(map(len, rows)) + len(rows) > MAX_VALUE_ITEMS:
            raise PydanticCustomError("mask_value_long", f"must have at most {MAX_VALUE_ITEMS:,} numbers and rows")
        if any(all(type(item) is kind for row in rows for item in row) for kind in (int, bool)):
            return value
    wanted = "must be a whole number, true or false, or a list of either, or a list of such lists"
    raise PydanticCustomError("mask_value", wanted)


Value = Annotated[ValueTypes, PlainValidator(_mask_value, json_schema_input_type=ValueTypes)]
Values = dict[Annotated[str, Field(max_length=100)], Value]
Verdict = Literal["pending", "passed", "failed", "error", "cancelled"]
LaunchState = Literal["queued", "running", "done", "failed", "cancelled", "lost"]
RunState = Literal["queued", "running", "done", "failed", "cancelled"]
Dtype = Literal["bfloat16", "float16", "float32"]
Direction = Literal["forward", "backward", "forward+backward"]
Quantity = Literal["o", "lse", "dq", "dk", "dv"]
Tag = Annotated[str, Field(pattern=r"^[\w.:/+-][\w.:/+ -]{0,39}$")]
"""Words of letters and digits; no comma and no quotation mark, so that lists of them stay readable everywhere."""


class Public(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class Body(BaseModel):
    """What a client sends. An unknown field is an error, not silently dropped."""

    model_config = ConfigDict(extra="forbid")
