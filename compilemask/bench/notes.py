"""What somebody who reads a speed should know about how it came about."""

from __future__ import annotations

from compilemask.bench.measure import Timing
from compilemask.bench.protocol import Dtype

# Dense tensor-core TFLOP/s of 16-bit inputs and of float32 (without TF32), from the makers' data sheets.
_PEAKS: dict[str, tuple[float, float]] = {
    "H200": (989.4, 66.9),
    "H100 PCIe": (756.4, 51.2),
    "H100": (989.4, 66.9),
    "A100": (311.8, 19.5),
    "B200": (2250.0, 75.0),
    "L40S": (362.1, 91.6),
    "L4": (121.0, 30.3),
    "A10": (125.0, 31.2),
    "RTX 4090": (165.2, 82.6),
}
_LAUNCH_SHARE = 0.8


def notes_on(dtype: Dtype, tflops: float | None, timing: Timing, device: str) -> tuple[str, ...]:
    """In words, one sentence each; none when there is nothing to say."""
    notes = []
    if not timing.steady:
        notes.append("times had not settled when the warm-up ended")
    if timing.launch_ms is not None and timing.launch_ms >= _LAUNCH_SHARE * timing.median_ms:
        notes.append(
            f"launching takes {timing.launch_ms:.3f} ms of {timing.median_ms:.3f}: this measures the host; "
            f"a CUDA graph shows the kernel"
        )
    peak = peak_tflops(device, dtype)
    if peak is not None and tflops is not None and tflops > peak:
        notes.append(
            f"{tflops:.0f} TFLOP/s are more than the {peak:.0f} that this device can do: do not trust this row"
        )
    return tuple(notes)


def peak_tflops(device: str, dtype: Dtype) -> float | None:
    """Of a device by its product name, without sparsity; None when it is not known."""
    for name, (half, single) in _PEAKS.items():
        words = name.split()
        if all(word in device.replace("-", " ").split() for word in words):
            return single if dtype == "float32" else half
    return None
