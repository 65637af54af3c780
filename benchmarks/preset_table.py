"""A table of all presets: what each costs to bind and to plan, how large it is, and how its tiles fall.

    python benchmarks/preset_table.py > docs/presets.md

Needs no GPU. Every preset is bound to its last example, the largest. Times are those of one core, the least of five.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from compilemask import compile
from compilemask.plan import grid_counts, plan_tiles
from compilemask.presets import preset_names, preset_source

BLOCK = 128
REPEATS = 5

HEAD = f"""\
# Presets

Every preset, bound to its largest example. `runs` are the affine runs of the descriptor, `families` what is left of them when runs
that repeat at equal steps count once, `bytes` those of the families, `JSON` those of the descriptor as text; `bind` goes from numbers to
descriptor and `plan` from descriptor to tiles, in milliseconds. Tiles are {BLOCK} x {BLOCK}; `fill` is the share
of visible cells in the tiles that are not empty. Made by `python benchmarks/preset_table.py`.

| preset | rules | queries x keys | runs | families | bind, ms | plan, ms | bytes | JSON | full | partial | empty | fill |
| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def least_ms(work: Callable[[], object]) -> float:
    """The least time of a few repeats; of the processor, so that other programs do not count."""
    times = []
    for _ in range(REPEATS):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return min(times) * 1000


def rule_lines(source: str) -> int:
    """Lines of the text that are rules, or go on with one."""
    lines = [line.split("#")[0].rstrip() for line in source.split("\n")]
    first = next((number for number, line in enumerate(lines) if " sees " in line), 0)
    stop = next((n for n, line in enumerate(lines) if line.startswith(("example", "assert"))), len(lines))
    return sum(bool(line) for line in lines[first:stop])


def row(name: str) -> str:
    source = preset_source(name)
    program = compile(source, filename=f"{name}.mask")
    values = dict(program.examples[-1].values)
    mask = program.bind(**values)
    counts = grid_counts(mask, BLOCK, BLOCK)
    cells = (counts.full + counts.partial) * BLOCK * BLOCK
    cells = min(cells, mask.q_len * mask.kv_len)
    fields = [
        name,
        rule_lines(source),
        f"{mask.q_len:,} x {mask.kv_len:,}",
        f"{mask.num_runs:,}",
        f"{mask.num_families:,}",
        f"{least_ms(lambda: program.bind(**values)):.1f}",
        f"{least_ms(lambda: plan_tiles(mask, BLOCK, BLOCK)):.1f}",
        f"{mask.families().nbytes:,}",
        f"{len(mask.to_json()):,}",
        f"{counts.full:,}",
        f"{counts.partial:,}",
        f"{counts.empty:,}",
        f"{mask.visible_pairs / cells:.2f}",
    ]
    return f"| {' | '.join(map(str, fields))} |"


def main() -> None:
    print(HEAD)
    for name in preset_names():
        print(row(name), flush=True)


if __name__ == "__main__":
    main()
