"""What Triton's launcher is given for tensor descriptors, and what tensor_maps gives it; run by test_tensor_maps.py.

python offline_launch.py

Compiles a Triton and a Gluon kernel for a GPU that is not there, puts a recorder in the place of what calls the driver, and
prints for each kernel whether both were given the same.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import torch
import triton
import triton.language as tl
from offline_compile import AbsentGpu
from triton.backends.nvidia import driver as nvidia
from triton.experimental import gluon
from triton.runtime import driver
from triton.tools.tensor_descriptor import TensorDescriptor

from compilemask.attention.hopper.gluon_api import TensorDescriptor as GluonDescriptor
from compilemask.attention.hopper.gluon_api import gl
from compilemask.attention.triton.tensor_maps import taking_maps

LAYOUT = gl.NVMMASharedLayout.get_default_for([1, 16, 64], gl.float16)
given: list[tuple[object, ...]] = []


@triton.jit
def triton_kernel(x_ptr, strides, x_desc, nothing, y_desc, n, scale, SIZE: tl.constexpr):
    x = x_desc.load([0, 0])
    y_desc.store([0, n], (x * scale + tl.load(x_ptr + strides[0])).to(tl.float16))


@gluon.jit
def gluon_kernel(x_ptr, x_desc, n, scale, SIZE: gl.constexpr):
    gl.store(x_ptr, n * scale)
    x = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_type.shape, x_desc.layout)
    x._keep_alive()


def record(*args: object) -> None:
    # Newer versions hand the kernel's arguments over together, as a list or as a tuple.
    *first, last = args
    given.append((*first, *last) if isinstance(last, list | tuple) else args)


def stand_in() -> None:
    """No driver is called."""
    utils = SimpleNamespace(
        launch=record, build_signature_metadata=tuple,
        fill_tma_descriptor=lambda *args: ("map", str(args)), fill_tma_descriptor_tiled=lambda *args: ("map", str(args)),
    )  # fmt: skip
    active: Any = AbsentGpu(90)
    active.utils, active.launcher_cls = utils, nvidia.CudaLauncher
    active.allocate_default_profile_scratch = lambda *_: None
    driver.set_active(active)
    parts: Any = nvidia
    parts.compile_module_from_src = lambda src, **_: SimpleNamespace(launch=lambda *args: record(src, *args))
    parts.library_dirs = list
    parts.PyKernelArg = lambda nested_tuple, type: (nested_tuple, type)
    parts.ARG_CONSTEXPR, parts.ARG_KERNEL, parts.ARG_TUPLE = range(3)


def same(kernel: Any, args: tuple[object, ...]) -> dict[str, object]:
    """Whether Triton's launcher and the one that takes maps end in equal calls."""
    compiled = kernel.warmup(*args, grid=(3, 1, 1), num_warps=4)
    before = (3, 1, 1, 77, 88, (4, 1, 0), None, None, None)
    nvidia.CudaLauncher(compiled.src, compiled.metadata)(*before, *args)
    launcher, maps = taking_maps(compiled)
    places = [place for place, x in enumerate(args) if hasattr(x, "block_shape")]
    of = dict(zip(places, maps, strict=True))
    flat = [part for place, x in enumerate(args) for part in (of[place].of(x) if place in of else [x])]
    launcher(*before, *flat)
    triton_gave, ours = given[-2:]
    again = [of[place].of(args[place]) is of[place].of(args[place]) for place in places]
    return {"descriptors": len(maps), "same": triton_gave == ours, "kept": all(again), "arguments": len(ours)}


def main() -> dict[str, dict[str, object]]:
    stand_in()
    x, y = torch.zeros(64, 32, dtype=torch.float16), torch.zeros(128, 64, dtype=torch.float16)
    boxed = GluonDescriptor(x.view(1, 32, 64), [1, 32, 64], [2048, 64, 1], [1, 16, 64], LAYOUT)
    descriptors = [TensorDescriptor(t, list(t.shape), list(t.stride()), [16, 16]) for t in (x, y)]
    return {
        "triton": same(triton_kernel, (x, x.stride(), descriptors[0], None, descriptors[1], 5, 0.5, 16)),
        "gluon": same(gluon_kernel, (y.float(), boxed, 5, 0.5, 16)),
    }


if __name__ == "__main__":
    print(json.dumps(main()))
