"""Two kernels with an error each, which a checker must find: a checker that finds nothing anywhere has checked nothing.

compute-sanitizer python3 benchmarks/planted_errors.py write                    # memcheck: a write behind the end
compute-sanitizer --tool racecheck python3 benchmarks/planted_errors.py race    # warps of a block without a barrier
"""

from __future__ import annotations

import sys

import torch

SOURCE = """
extern "C" __global__ void planted_write_kernel(float* out) { out[1000 + threadIdx.x] = 1.0f; }
extern "C" __global__ void planted_race_kernel(float* out) {
    __shared__ float shared[64];
    shared[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = shared[63 - threadIdx.x];
}
"""


def main() -> int:
    (error,) = sys.argv[1:]
    out = torch.empty(1000, device="cuda")
    kernel = torch.cuda._compile_kernel(SOURCE, f"planted_{error}_kernel")
    kernel(grid=(1, 1, 1), block=(64, 1, 1), args=[out])
    torch.cuda.synchronize()
    return 0


if __name__ == "__main__":
    sys.exit(main())
