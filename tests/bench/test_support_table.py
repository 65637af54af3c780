"""The table of supported sizes says yes, no and WRONG where it should."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor

from benchmarks import support_table
from benchmarks.support_table import DIMS, DTYPES, Row, impls_on, table, verdict
from compilemask.attention import attention


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_what_obeys_the_rule_is_supported(dtype: str) -> None:
    assert verdict("torch", dtype, 16, 24, "cpu") == ("yes", "")


@pytest.mark.parametrize("quantity", ["o", "lse", "dq", "dk", "dv"])
def test_one_wrong_quantity_is_told(quantity: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Spoilt(torch.autograd.Function):
        @staticmethod
        def forward(_ctx: object, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(_ctx: object, grad: Tensor) -> Tensor:
            return grad * 1.1

    def wrong(q: Tensor, k: Tensor, v: Tensor, mask: object, **options: object) -> tuple[Tensor, Tensor]:
        q, k, v = (Spoilt.apply(x) if f"d{name}" == quantity else x for name, x in (("q", q), ("k", k), ("v", v)))
        o, lse = attention(q, k, v, mask, **options)  # type: ignore[call-overload]
        return o * (1.1 if quantity == "o" else 1.0), lse + (0.1 if quantity == "lse" else 0.0)

    monkeypatch.setattr(support_table, "attention", wrong)
    said, reason = verdict("torch", "float16", 16, 16, "cpu")
    assert said == "WRONG"
    assert reason.startswith(f"{quantity} errs by ")


def test_a_device_has_the_columns_that_were_run_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert impls_on("cpu") == ("reference", "torch", "triton")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    assert impls_on("cuda") == ("reference", "torch", "triton", "hopper")
    rows = [
        Row(impl, dtype, *dims, "no" if impl == "hopper" else "yes", "too small" if impl == "hopper" else "")
        for impl in ("torch", "hopper") for dtype in DTYPES for dims in DIMS
    ]  # fmt: skip
    lines = table(rows, {"title": "a GPU", "date": "2026-11-30T00:00:00", "command": "c", "environment": {}})
    assert lines[4] == "| head_dim | " + " | ".join(f"{i} {d}" for i in ("torch", "hopper") for d in DTYPES) + " |"
    assert lines[6] == "| 8 | yes | yes | yes | no | no | no |"
    assert lines[-2:] == ["- too small", ""]


def test_refusals_are_kept_apart_by_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict("triton", "float16", 320, 320, "cpu")[0] == "no"

    def forward_only(q: Tensor, *inputs: object, **options: object) -> tuple[Tensor, Tensor]:
        if q.requires_grad:
            raise NotImplementedError("no gradient here")
        return attention(q, *inputs, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(support_table, "attention", forward_only)
    assert verdict("torch", "float16", 16, 16, "cpu") == ("forward", "no gradient here")


def test_rows_come_from_processes_and_missing_ones_are_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(support_table, "DIMS", ((8, 8),))
    monkeypatch.setattr(support_table, "IMPLS", ("torch",))

    def run(*words: str) -> tuple[int, list[dict[str, object]]]:
        monkeypatch.setattr("sys.argv", ["support_table.py", "--out", str(tmp_path), "--jobs", "1", *words])
        return support_table.main(), json.loads((tmp_path / "support_cpu.json").read_text())["rows"]

    code, rows = run()
    assert code == 0
    assert [(row["dtype"], row["verdict"]) for row in rows] == [(dtype, "yes") for dtype in DTYPES]
    path = tmp_path / "support_cpu.json"
    record = json.loads(path.read_text().replace('"reason": ""', '"reason": "kept"'))
    record["rows"].pop(1)
    path.write_text(json.dumps(record))
    code, rows = run("--resume")
    assert code == 0
    assert [row["reason"] for row in rows] == ["kept", "", "kept"]
    assert run("--resume", "--dtype", "float32", "--time-limit", "0")[0] == support_table.INCOMPLETE


def test_a_combination_that_has_not_run_says_so() -> None:
    rows = [Row("torch", "bfloat16", 8, 8, "yes", ""), Row("hopper", "float16", 64, 64, "yes", "", "triton")]
    lines = table(rows, {"title": "a GPU", "date": "2026-11-30T00:00:00", "command": "c", "environment": {}})
    assert lines[6] == "| 8 | yes | not run | not run | not run | not run | not run |"
    assert "| 64 | not run | not run | not run | not run | yes, by triton | not run |" in lines
