"""Tensor maps are encoded once for an address, and a launch with kept ones is the launch that Triton makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from compilemask.attention.triton import tensor_maps
from compilemask.attention.triton.tensor_maps import TensorMaps

SCRIPT = Path(__file__).with_name("offline_launch.py")


def test_triton_and_gluon_kernels_get_what_triton_would_give_them() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert {name: one["descriptors"] for name, one in found.items()} == {"triton": 2, "gluon": 1}
    assert all(one["same"] and one["kept"] and one["arguments"] > 20 for one in found.values()), found


def test_few_maps_are_kept_each_for_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[int] = []

    def encode(descriptor: TensorDescriptor, encoding: object, *_: object) -> list[object]:
        encoded.append(descriptor.base.data_ptr())
        return [(descriptor.base.data_ptr(), encoding), *descriptor.shape, *descriptor.strides]

    monkeypatch.setattr(tensor_maps, "make_tensordesc_arg", encode)
    monkeypatch.setattr(tensor_maps, "_MOST_MAPS", 2)
    tensors = [torch.zeros(16, 16) for _ in range(3)]
    descriptors = [TensorDescriptor(x, [16, 16], [16, 1], [8, 8]) for x in tensors]
    maps = TensorMaps({"block_size": 8})
    for _ in range(3):
        for x, descriptor in zip(tensors[:2], descriptors, strict=False):
            assert maps.of(descriptor) == [(x.data_ptr(), {"block_size": 8}), 16, 16, 16, 1]
    assert len(encoded) == 2
    assert maps.of(descriptors[2])[0] == (tensors[2].data_ptr(), {"block_size": 8})
    assert len(encoded) == 3 and len(maps._known) == 1
