"""What all shapes share: mask values, names of states, the two kinds of models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

MAX_SOURCE_CHARS = 64_000


def _mask_value(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    """One message for the whole union, in place of one for each of its members."""
    try:
        return handler(value)
    except ValidationError:
        wanted = "must be a whole number, true or false, or a list of whole numbers"
        raise PydanticCustomError("mask_value", wanted) from None


Value = Annotated[StrictBool | StrictInt | list[StrictInt], WrapValidator(_mask_value)]
Values = dict[Annotated[str, Field(max_length=100)], Value]
Verdict = Literal["pending", "passed", "failed", "error", "cancelled"]
LaunchState = Literal["queued", "running", "done", "failed", "cancelled", "lost"]
RunState = Literal["queued", "running", "done", "failed", "cancelled"]
Dtype = Literal["bfloat16", "float16", "float32"]


class Public(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class Body(BaseModel):
    """What a client sends. An unknown field is an error, not silently dropped."""

    model_config = ConfigDict(extra="forbid")
