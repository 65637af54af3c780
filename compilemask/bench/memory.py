"""Whether a case fits, asked before anything is allocated."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from compilemask.bench.inputs import TORCH_DTYPE
from compilemask.bench.protocol import CaseSpec
from compilemask.descriptor import MaskDescriptor

_GIB = 1 << 30


def needed_bytes(spec: CaseSpec, mask: MaskDescriptor) -> int:
    """About what a case takes at its peak: q, k, v, o, their float64 copies for the check, a dense mask where one is made."""
    rows = spec.batch * (spec.num_q_heads * mask.q_len * 2 + spec.num_kv_heads * mask.kv_len * 2)
    itemsize = TORCH_DTYPE[spec.dtype].itemsize
    tensors = rows * spec.head_dim * (itemsize + 8)
    dense_mask = 3 * mask.q_len * mask.kv_len if spec.provider.startswith("sdpa") else 0
    scores = 0
    if spec.provider == "sdpa_math":
        scores = 3 * max(itemsize, 4) * spec.batch * spec.num_q_heads * mask.q_len * mask.kv_len
    return tensors + dense_mask + scores


def free_bytes(device: torch.device) -> int:
    """Memory that a process can still get on this device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        return int(fields["MemAvailable"].split()[0]) << 10
    # Elsewhere the installed memory is the only bound that the standard library knows.
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check_memory(spec: CaseSpec, mask: MaskDescriptor, device: torch.device) -> None:
    """Raises ValueError when the case needs more than is free."""
    needed, free = needed_bytes(spec, mask), free_bytes(device)
    if needed > free:
        raise ValueError(
            f"the case needs about {needed / _GIB:.1f} GiB on {device}, {free / _GIB:.1f} GiB are free; "
            f"use fewer heads, a smaller batch or shorter lengths"
        )
