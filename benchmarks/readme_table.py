"""The table of the README, from the rows; benchmarks/performance.py writes it between its marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.masks import MASKS
from benchmarks.result_files import ResultFile, Row, newest, passed, read_json
from benchmarks.speed_rows import pairs

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- measured: written by benchmarks/performance.py -->", "<!-- end of measured -->"
LENGTH = 32_768
_LINES = (
    ("causal", "forward", "causal"),
    ("hstu", "forward", "hstu, a quarter targets"),
    ("shared_prompt", "forward", "shared prompt, 12 responses"),
    ("clear", "forward", "CLEAR, radius 16, 512 text"),
    ("natten_128_k33", "forward", "NATTEN 128 x 128, 33 x 33, 16,384 tokens"),
    ("causal", "forward+backward", "causal, forward + backward"),
)
COMMAND = (
    f"python3 benchmarks/speed_table.py --out benchmarks/results --masks {' '.join(dict.fromkeys(line[0] for line in _LINES))} "
    f"--lengths {LENGTH} --head-dims 128 --providers hopper triton flex_attention"
)
STEP_TOKENS = 4096
_FAMILIES = {"documents": "documents", "shared_prompt": "shared prompt", "hstu_jagged": "HSTU"}
_NAMES = {"sdpa_cudnn": "cuDNN", "flex_attention_flash": "FlexAttention FLASH", "fa4": "FA4", "varlen": "torch varlen"}


def written(readme: str, files: Sequence[ResultFile]) -> str:
    """The README with its table made anew. ValueError when it lacks the marks."""
    before, found, rest = readme.partition(BEGIN)
    _, also, after = rest.partition(END)
    if not (found and also):
        raise ValueError(f"README.md must have the lines {BEGIN!r} and {END!r}")
    steps = (read_json("step_table.json") or {"rows": []})["rows"]
    return before + "\n".join([BEGIN, *table_lines(files, steps), END]) + after


def table_lines(files: Sequence[ResultFile], steps: Sequence[Row] = ()) -> Iterator[str]:
    """Conditions and table, of the H200's rows at head_dim 128 in bfloat16; steps: rows of step_table.json."""
    file = next(file for file in files if "speed_table" in file.name and "H200" in file.environment["device"])
    own = [row for row in file.rows if row["head_dim"] == 128 and row["dtype"] == "bfloat16"]
    used = [row for mask, direction, _ in _LINES for row in _rows(own, mask, direction)]
    unsteady = sum(not row["steady"] for row in used)
    versions = ", ".join(f"{name} {file.environment[name].split('+')[0]}" for name in ("torch", "triton"))
    builds = sorted({row["environment"]["source"] for row in used})
    yield (
        f"One {file.environment['device']}, bfloat16, 16 heads of 128, {LENGTH:,} tokens, warm caches; {versions}, {file.date[:10]} {file.date[11:16]} UTC, code "
        f"{', '.join(builds)} (a digest, which may not be today's). Each output and gradient is verified against float64 before it is [timed](docs/measuring.md). "
        f"In brackets: how many times faster the Hopper kernels are in that run. Of these {len(used)} times {unsteady} still changed when their warm-up ended. "
        f"{step_sentence(steps)}[All rows, targets, and where peers are faster](docs/performance.md)."
    )
    yield ""
    yield f"    {COMMAND}"
    yield ""
    lines = [line for mask, direction, words in _LINES for line in _line(words, _rows(own, mask, direction))]
    head = ["forward", "CompileMask, Hopper", "CompileMask, Triton", "FlexAttention, compiled", "fastest other peer"]
    # No column for what no line has.
    columns = len(head) if any(line[-1] for line in lines) else len(head) - 1
    for line in (head, ["---"] * len(head), *lines):
        yield f"| {' | '.join(line[:columns])} |"


def step_sentence(rows: Sequence[Row]) -> str:
    """Forward and backward under masks of new lengths each time, from lengths on the GPU, beside FlexAttention; empty without rows."""
    wanted = [row for row in rows if row["verdict"] == "passed" and row["direction"] == "forward+backward"]
    times = {(row["family"], row["tokens"], row["way"]): row["median_ms"] for row in wanted}
    parts = [
        f"{_FAMILIES[family]} {ms:.2f} ms beside {times[family, tokens, 'flex']:.2f} ({times[family, tokens, 'flex'] / ms:.2f}x)"
        for (family, tokens, way), ms in times.items()
        if way == "device" and tokens == STEP_TOKENS and (family, tokens, "flex") in times
    ]
    if not parts:
        return ""
    return (
        f"A forward and backward with new lengths every time, mask included (`DeviceMask`; {STEP_TOKENS:,} tokens; FlexAttention with compiled create_block_mask): "
        f"{', '.join(parts)}. "
    )


def _rows(rows: Sequence[Row], mask: str, direction: str) -> list[Row]:
    """Of every provider the last row that passed, and ours beside each of them."""
    length = MASKS[mask].own_length or LENGTH
    own = [row for row in passed(rows) if (row["mask"], row["length"], row["direction"]) == (mask, length, direction)]
    last = newest(own)
    runs = {row["run"] for row in last}
    shown = {id(row) for row in last}
    return [row for row in own if id(row) in shown or (row["run"] in runs and row["provider"] == "hopper")]


def _line(words: str, rows: Sequence[Row]) -> Iterator[list[str]]:
    """One line of the table; none without a row of the Hopper kernels beside FlexAttention."""
    beside = {peer["provider"]: (ours, peer) for ours, peer in pairs(rows) if ours["provider"] == "hopper"}
    if "flex_attention" not in beside:
        return
    ours, flex = beside.pop("flex_attention")
    triton = next((f"{row['median_ms']:.2f} ms" for row in rows if row["provider"] == "triton"), "")
    best = min(beside.values(), key=lambda pair: pair[1]["median_ms"] / pair[0]["median_ms"], default=None)
    other = "" if best is None else f"{_NAMES[best[1]['provider']]}, {_times(*best)}"
    yield [
        words, f"{ours['median_ms']:.2f} ms, {ours['tflops']:.0f} TFLOP/s", triton, _times(ours, flex), other,
    ]  # fmt: skip


def _times(ours: Row, peer: Row) -> str:
    return f"{peer['median_ms']:.2f} ms ({peer['median_ms'] / ours['median_ms']:.2f}x)"
