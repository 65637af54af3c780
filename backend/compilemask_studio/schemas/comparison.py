"""Several runs beside each other."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from compilemask_studio.schemas.base import Public
from compilemask_studio.schemas.runs import RunPublic

FieldGroup = Literal["mask", "numbers", "case", "environment", "results"]


class ComparedRun(Public):
    """One run against the run of the baseline's provider on the same case: only like is compared with like."""

    run: RunPublic
    against: int | None = Field(
        description="the run it is compared with; None when it is itself such a run, or there is none"
    )
    is_reference: bool = Field(description="whether it is the baseline, or the baseline's provider on another case")
    unlike: list[str] = Field(description="what differs from the baseline's case, when there is none to compare with")
    ratio: float | None = Field(description="median of `against` / this median; above 1 is faster")
    ratio_low: float | None = Field(description="the ratio that the 20-80 % intervals allow at least")
    ratio_high: float | None = Field(description="the ratio that the 20-80 % intervals allow at most")
    significant: bool | None = Field(description="the 20-80 % intervals do not touch and the change is over 3 %")


class ComparedField(Public):
    field: str
    group: FieldGroup
    values: list[str]
    differs: bool


class Comparison(Public):
    baseline_id: int
    runs: list[ComparedRun]
    fields: list[ComparedField]
    warnings: list[str]
