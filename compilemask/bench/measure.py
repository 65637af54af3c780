"""Times of a callable: warmed up until steady, every sample kept."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from compilemask.bench.progress import Progress, no_progress
from compilemask.bench.protocol import MeasureOptions

_WINDOW_SECONDS = 0.02
_STEADY_WINDOWS = 3
_STEADY_WITHIN = 0.02
_WARMUP_CAP_SECONDS = 3.0
_BATCH_SECONDS = 0.05
_CACHE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Timing:
    """samples_ms: one number a call. warmup_runs: calls before. steady: whether the warm-up ended because times agreed."""

    samples_ms: tuple[float, ...]
    warmup_runs: int
    steady: bool
    cache_state: Literal["cold", "warm"]

    @property
    def median_ms(self) -> float:
        return statistics.median(self.samples_ms)

    def quantile_ms(self, fraction: float) -> float:
        """The smallest sample that at least this fraction of the samples does not exceed."""
        ordered = sorted(self.samples_ms)
        return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]


def measure(
    run: Callable[[], object],
    device: torch.device,
    options: MeasureOptions,
    *,
    progress: Progress = no_progress,
) -> Timing:
    """Time `run`: CUDA events on a GPU, the wall clock on the CPU.

    Warm-up: windows of some 20 ms, until the medians of three in a row agree within 2 %, or for 3 seconds. Then samples until
    there are options.min_samples and options.target_seconds are used up. With options.cold_l2 a buffer larger than the
    caches is written before each sample, outside of its time.
    """
    progress("warm-up", 0.0)
    timer = _cuda_times if device.type == "cuda" else _cpu_times
    clear = _cache_cleaner(device) if options.cold_l2 else None
    began = time.perf_counter()
    first = timer(run, 1, clear)
    medians: list[float] = []
    warmup_runs = 1
    steady = False
    count = max(1, int(_WINDOW_SECONDS * 1e3 / max(first[0], 1e-3)))
    while not steady and time.perf_counter() - began < _WARMUP_CAP_SECONDS:
        medians.append(statistics.median(timer(run, count, clear)))
        warmup_runs += count
        count = max(1, int(_WINDOW_SECONDS * 1e3 / max(medians[-1], 1e-3)))
        last = medians[-_STEADY_WINDOWS:]
        steady = len(last) == _STEADY_WINDOWS and max(last) <= min(last) * (1 + _STEADY_WITHIN)
    samples = _sample(run, timer, clear, options, progress)
    return Timing(tuple(samples), warmup_runs, steady, "cold" if options.cold_l2 else "warm")


def _sample(
    run: Callable[[], object],
    timer: Callable[..., list[float]],
    clear: Callable[[], object] | None,
    options: MeasureOptions,
    progress: Progress,
) -> list[float]:
    samples: list[float] = []
    began = time.perf_counter()
    batch = 1
    while True:
        used = time.perf_counter() - began
        if len(samples) >= options.min_samples and used >= options.target_seconds:
            return samples
        done = min(len(samples) / max(options.min_samples, 1), used / max(options.target_seconds, 1e-9))
        progress("measure", min(1.0, done))
        samples += timer(run, batch, clear)
        batch = max(1, int(_BATCH_SECONDS * 1e3 / max(statistics.median(samples), 1e-3)))


def _cuda_times(run: Callable[[], object], count: int, clear: Callable[[], object] | None) -> list[float]:
    """Milliseconds of `count` calls, queued without waiting in between, so that launches overlap with work."""
    events = [[_event(), _event()] for _ in range(count)]
    for start, stop in events:
        if clear:
            clear()
        start.record()
        run()
        stop.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(stop) for start, stop in events]


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _cpu_times(run: Callable[[], object], count: int, clear: Callable[[], object] | None) -> list[float]:
    times = []
    for _ in range(count):
        if clear:
            clear()
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def _cache_cleaner(device: torch.device) -> Callable[[], object]:
    buffer = torch.empty(_CACHE_BYTES, dtype=torch.int8, device=device)
    return buffer.zero_
