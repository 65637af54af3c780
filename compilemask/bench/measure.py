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
_BATCH_SECONDS = 0.05
_CACHE_BYTES = 256 << 20
_RUNS_BEFORE_CAPTURE = 3


@dataclass(frozen=True, slots=True)
class Timing:
    """samples_ms: one number a call. warmup_runs: calls before. steady: whether the warm-up ended because times agreed.

    launch_ms: median host time until a call returned, on a GPU. cuda_graph: whether calls replayed a captured graph.
    """

    samples_ms: tuple[float, ...]
    warmup_runs: int
    steady: bool
    cache_state: Literal["cold", "warm"]
    launch_ms: float | None = None
    cuda_graph: bool = False

    @property
    def median_ms(self) -> float:
        return statistics.median(self.samples_ms)

    def quantile_ms(self, fraction: float) -> float:
        """The smallest sample that at least this fraction of the samples does not exceed."""
        ordered = sorted(self.samples_ms)
        return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]


class _Timer:
    """Times calls of one function, one by one: CUDA events on a GPU, the wall clock on the CPU."""

    def __init__(self, run: Callable[[], object], device: torch.device, clear: Callable[[], object] | None) -> None:
        self._run, self._clear = run, clear
        self._on_gpu = device.type == "cuda"
        self.launches_ms: list[float] = []

    def __call__(self, count: int) -> list[float]:
        """Milliseconds of `count` calls. What clears the caches comes before each, outside of its time."""
        return self._events(count) if self._on_gpu else self._wall(count)

    def _events(self, count: int) -> list[float]:
        """Queued without waiting in between, so that launches overlap with work."""
        events = [[_event(), _event()] for _ in range(count)]
        for start, stop in events:
            if self._clear:
                self._clear()
            began = time.perf_counter()
            start.record()
            self._run()
            stop.record()
            self.launches_ms.append((time.perf_counter() - began) * 1e3)
        torch.cuda.synchronize()
        return [start.elapsed_time(stop) for start, stop in events]

    def _wall(self, count: int) -> list[float]:
        times = []
        for _ in range(count):
            if self._clear:
                self._clear()
            start = time.perf_counter()
            self._run()
            times.append((time.perf_counter() - start) * 1e3)
        return times


def measure(
    prepare: Callable[[], Callable[[], object]],
    device: torch.device,
    options: MeasureOptions,
    *,
    progress: Progress = no_progress,
) -> Timing:
    """Time the call that `prepare()` makes: CUDA events on a GPU, the wall clock on the CPU.

    Warm-up: windows of some 20 ms, until the medians of three in a row agree within 2 %, or for options.warmup_seconds. Then samples until
    there are options.min_samples and options.target_seconds are used up. With options.cold_l2 a buffer larger than the
    caches is written before each sample, outside of its time. With options.cuda_graph the call is captured once and replayed;
    ValueError when it cannot be captured.
    """
    progress("warm-up", 0.0)
    run = captured(prepare, device) if options.cuda_graph else prepare()
    timer = _Timer(run, device, _cache_cleaner(device) if options.cold_l2 else None)
    warmup_runs, steady = _warm_up(timer, options.warmup_seconds)
    timer.launches_ms.clear()
    samples = _sample(timer, options, progress)
    launch_ms = statistics.median(timer.launches_ms) if timer.launches_ms else None
    cache_state: Literal["cold", "warm"] = "cold" if options.cold_l2 else "warm"
    return Timing(tuple(samples), warmup_runs, steady, cache_state, launch_ms, options.cuda_graph)


def captured(prepare: Callable[[], Callable[[], object]], device: torch.device) -> Callable[[], object]:
    """The call as a replay of its CUDA graph. Both are made on a stream of their own, on which autograd then works, too."""
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(device))
    try:
        with torch.cuda.stream(stream):
            run = prepare()
            for _ in range(_RUNS_BEFORE_CAPTURE):
                run()
        torch.cuda.synchronize(device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            run()
    except RuntimeError as problem:
        first = str(problem).strip().splitlines()[0]
        raise ValueError(f"this call cannot be captured in a CUDA graph: {first}; measure it without") from problem
    torch.cuda.synchronize(device)
    return graph.replay


def _warm_up(timer: _Timer, most_seconds: float) -> tuple[int, bool]:
    """(calls made, whether they agreed at the end)."""
    began = time.perf_counter()
    first = timer(1)
    medians: list[float] = []
    runs, steady = 1, False
    count = max(1, int(_WINDOW_SECONDS * 1e3 / max(first[0], 1e-3)))
    while not steady and time.perf_counter() - began < most_seconds:
        medians.append(statistics.median(timer(count)))
        runs += count
        count = max(1, int(_WINDOW_SECONDS * 1e3 / max(medians[-1], 1e-3)))
        last = medians[-_STEADY_WINDOWS:]
        steady = len(last) == _STEADY_WINDOWS and max(last) <= min(last) * (1 + _STEADY_WITHIN)
    return runs, steady


def _sample(timer: _Timer, options: MeasureOptions, progress: Progress) -> list[float]:
    samples: list[float] = []
    began = time.perf_counter()
    batch = 1
    while True:
        used = time.perf_counter() - began
        if len(samples) >= options.min_samples and used >= options.target_seconds:
            return samples
        done = min(len(samples) / max(options.min_samples, 1), used / max(options.target_seconds, 1e-9))
        progress("measure", min(1.0, done))
        samples += timer(batch)
        batch = max(1, int(_BATCH_SECONDS * 1e3 / max(statistics.median(samples), 1e-3)))


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _cache_cleaner(device: torch.device) -> Callable[[], object]:
    buffer = torch.empty(_CACHE_BYTES, dtype=torch.int8, device=device)
    return buffer.zero_
