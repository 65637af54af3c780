"""Where a measurement was made, as words."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import subprocess
from functools import cache
from pathlib import Path

import torch

import compilemask


def device_name(device: torch.device) -> str:
    """The product's name of a device."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU {_cpu_model()}"


def environment(device: torch.device) -> dict[str, str]:
    """Hardware, driver, versions and commit. Only strings; what is not known is left out."""
    found = {
        "device": device_name(device),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "torch": torch.__version__,
        "compilemask": compilemask.__version__,
        "source": _source_digest(),
        "float32_matmul": torch.get_float32_matmul_precision(),
        "threads": str(torch.get_num_threads()),
    } | {name: version for name in ("triton", "numpy") if (version := _version(name))}
    if commit := _commit():
        found["commit"] = commit
    if device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(device)
        found |= {"cuda": torch.version.cuda or "", "compute_capability": f"{major}.{minor}"}
        found |= _nvml(device)
    return found


def devices() -> list[dict[str, str | int | None]]:
    """Every CUDA device, or the CPU when there is none: name, kind, memory_bytes installed, detail in words."""
    found: list[dict[str, str | int | None]] = []
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        found.append(
            {
                "name": properties.name,
                "kind": "cuda",
                "memory_bytes": properties.total_memory,
                "detail": f"compute capability {properties.major}.{properties.minor}, "
                f"{properties.multi_processor_count} multiprocessors",
            }
        )
    if not found:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        detail = f"{torch.get_num_threads()} threads"
        found.append({"name": f"CPU {_cpu_model()}", "kind": "cpu", "memory_bytes": memory, "detail": detail})
    return found


@cache
def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def _commit() -> str | None:
    """The commit of the working tree this package is in, with "+changes" when files differ from it."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        git = ["git", "-C", str(root)]
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
        changes = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return commit.stdout.strip() + ("+changes" if changes.stdout.strip() else "")


@cache
def _source_digest() -> str:
    """Twelve hexadecimal digits that tell this package's code from any other, also where there is no commit."""
    digest = hashlib.sha256()
    root = Path(compilemask.__file__).parent
    for path in sorted(root.rglob("*.py")) + sorted(root.rglob("*.mask")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@cache
def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _nvml(device: torch.device) -> dict[str, str]:
    """Driver, power limit and clocks, where nvidia-ml-py is installed and the driver answers; else the driver alone."""
    try:
        import pynvml
    except ImportError:
        return driver_of_kernel(Path("/proc/driver/nvidia/version"))
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
        return {
            "driver": str(pynvml.nvmlSystemGetDriverVersion()),
            "power_limit_w": str(pynvml.nvmlDeviceGetPowerManagementLimit(handle) // 1000),
            "sm_clock_mhz": str(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
        }
    except pynvml.NVMLError:
        return driver_of_kernel(Path("/proc/driver/nvidia/version"))


def driver_of_kernel(path: Path) -> dict[str, str]:
    """{"driver": its version} as the kernel module tells it on Linux, or nothing."""
    try:
        found = re.search(
            r"Kernel Module\s+(?:for \S+\s+)?([\d.]+)", path.read_text(encoding="utf-8", errors="replace")
        )
    except OSError:
        return {}
    return {"driver": found[1]} if found else {}
