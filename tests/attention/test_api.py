"""The door: what attention() accepts, refuses, and chooses."""

from __future__ import annotations

import functools
import inspect
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of, random_qkv

from compilemask.attention import attention, choose_impl

VISIBLE = causal(20, 30)
MASK = descriptor_of(VISIBLE)


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (torch.ones(20, 30, dtype=torch.bool), "got a bool tensor of shape 20x30: write the rule as mask text"),
        (torch.zeros(20, 30), "got a torch.float32 tensor of shape 20x30: added biases are not supported"),
        (lambda q, k: q >= k, "got a function: write its rule as mask text"),
        ("mask m(n: int)", "got a string: compile and bind it first"),
        (None, "got None: for attention without a mask compile one that shows every key"),
        (np.ones((20, 30), bool), "got ndarray: write the mask as text and compile it"),
    ],
    ids=["bool tensor", "float tensor", "function", "string", "nothing", "array"],
)
def test_a_wrong_kind_of_mask_is_told_the_nearest_right_one(mask: object, said: str) -> None:
    with pytest.raises(TypeError) as caught:
        attention(*random_qkv(VISIBLE), mask)  # type: ignore[call-overload]
    message = str(caught.value)
    assert message.startswith("mask must be a MaskDescriptor, what compilemask.compile(text).bind(...) returns; ")
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda q, k, v: (q[0, 0], k, v), "q must be [batch, heads, len, head_dim], or packed [total, heads, head_dim], got shape (20, 16)"),
        (lambda q, k, v: (q[0], k, v), "all be packed [total, heads, head_dim] or all [batch, heads, len, head_dim], got shapes (2, 20, 16), (1, 1, 30, 16)"),
        (lambda q, k, v: (q, k, v.bfloat16()), "one dtype of bfloat16, float16, float32, got torch.float32, torch.float32, torch.bfloat16"),
        (lambda q, k, v: (q.double(), k.double(), v.double()), "one dtype of bfloat16, float16, float32, got torch.float64"),
        (lambda q, k, v: (q, k.to("meta"), v), "on one device, got cpu, meta, cpu"),
        (lambda q, k, v: (q.repeat(2, 1, 1, 1), k, v), "one batch size, got 2, 1, 1"),
        (lambda q, k, v: (q.repeat(1, 2, 1, 1)[:, :3], k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1)), "multiple of num_kv_heads, got 3 and 2"),
        (lambda q, k, v: (q, k[:, :0], v[:, :0]), "num_q_heads and num_kv_heads must be at least 1, got 2 and 0"),
        (lambda q, k, v: (q[:, :0], k, v), "num_q_heads and num_kv_heads must be at least 1, got 0 and 1"),
        (lambda q, k, v: (q[:, :0], k[:, :0], v[:, :0]), "num_q_heads and num_kv_heads must be at least 1, got 0 and 0"),
        (lambda q, k, v: (q, k, v.repeat(1, 2, 1, 1)), "k and v must have the same heads, got 1 and 2"),
        (lambda q, k, v: (q, k[..., :8], v), "share head_dim, got 16 and 8"),
        (lambda q, k, v: (q, k, v[..., :0]), "head_dim must be at least 1, got 16 for q and k, 0 for v"),
        (lambda q, k, v: (q[..., :0], k[..., :0], v), "head_dim must be at least 1, got 0 for q and k, 16 for v"),
        (lambda q, k, v: (q.to("meta"), k, v), "on one device, got meta, cpu, cpu"),
        (lambda q, k, v: (q, k, v[:, :, :29]), "k and v must have the same length, got 30 and 29"),
        (lambda q, k, v: (q[:, :, :19], k, v), "the mask is for q_len 20 and kv_len 30, got tensors of 19 and 30"),
    ],
)  # fmt: skip
def test_tensors_that_do_not_fit_are_named_with_their_numbers(change, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        attention(*change(*random_qkv(VISIBLE)), MASK)
    assert "\n" not in str(caught.value)


def test_what_is_no_tensor_no_scale_or_no_impl_is_refused() -> None:
    q, k, v = random_qkv(VISIBLE)
    with pytest.raises(
        TypeError, match=r"k must be a torch.Tensor \[batch, heads, len, head_dim\], or packed .*, got ndarray"
    ):
        attention(q, k.numpy(), v, MASK)  # type: ignore[call-overload]
    for scale in (
        float("nan"),
        float("inf"),
        np.float32("nan"),
        "0.5",
        True,
        np.True_,
        1j,
        torch.tensor(0.5),
        10**400,
        10**5000,
    ):
        with pytest.raises(ValueError, match="sm_scale must be a finite number or None, got"):
            attention(q, k, v, MASK, sm_scale=scale)  # type: ignore[call-overload]
    with pytest.raises(
        ValueError, match="impl must be one of 'auto', 'reference', 'torch', 'triton', 'hopper', got 'flash'"
    ):
        attention(q, k, v, MASK, impl="flash")  # type: ignore[call-overload]


@pytest.mark.parametrize("scale", [np.float32(0.5), np.float64(0.5), np.float16(0.5), Fraction(1, 2), np.int64(2), 2])
def test_every_real_number_is_a_scale(scale: object) -> None:
    q, k, v = random_qkv(VISIBLE)
    expected = attention(q, k, v, MASK, sm_scale=float(scale))  # type: ignore[arg-type]
    assert torch.equal(attention(q, k, v, MASK, sm_scale=scale), expected)  # type: ignore[call-overload]


def test_the_reference_refuses_sizes_it_was_not_made_for() -> None:
    mask = descriptor_of(np.ones((1, 1), bool))
    q = torch.zeros(1 << 15, 1 << 14, 1, 1)
    with pytest.raises(ValueError, match=r"stops at 268,435,456 of them, got .* = 536,870,912; use impl='torch'"):
        attention(q, q, q, mask, impl="reference")


def test_the_default_scale_is_one_over_the_root_of_head_dim() -> None:
    q, k, v = random_qkv(VISIBLE)
    assert torch.equal(attention(q, k, v, MASK), attention(q, k, v, MASK, sm_scale=0.25))


def test_autocast_casts_the_inputs_and_nothing_inside() -> None:
    q, k, v = (x.requires_grad_() for x in random_qkv(VISIBLE))
    half = [x.detach().bfloat16().requires_grad_() for x in (q, k, v)]
    expected = attention(*half, MASK)
    expected.sum().backward()
    with torch.autocast("cpu", torch.bfloat16):
        o = attention(q, k, v, MASK)
        o.sum().backward()
    assert torch.equal(o, expected)
    for full, rounded in zip((q, k, v), half, strict=True):
        assert full.grad.dtype == torch.float32
        assert torch.equal(full.grad, rounded.grad.float())


def test_under_autocast_mixed_inputs_are_taken_and_outside_they_are_not() -> None:
    q, k, v = random_qkv(VISIBLE)
    with torch.autocast("cpu", torch.bfloat16):
        assert attention(q, k, v.bfloat16(), MASK).dtype == torch.bfloat16
    with pytest.raises(ValueError, match=r"got torch\.float32, torch\.float32, torch\.bfloat16"):
        attention(q, k, v.bfloat16(), MASK)


def test_the_choice_is_reported_with_its_reason() -> None:
    q, k, v = random_qkv(VISIBLE)
    assert choose_impl(q, k, v, impl="reference") == ("reference", "asked for")
    wide = torch.zeros(1, 2, 20, 257)
    assert choose_impl(wide, wide, wide) == ("torch", "the triton kernel takes a head_dim up to 256, got 257")
    with pytest.raises(ValueError, match="impl 'triton' cannot be used: the triton kernel takes a head_dim up to 256"):
        choose_impl(wide, wide, wide, impl="triton")


@pytest.mark.gpu
def test_cuda_tensors_take_the_triton_kernel() -> None:
    q, k, v = random_qkv(VISIBLE, device="cuda")
    assert choose_impl(q, k, v)[0] == "triton"
    assert choose_impl(q.requires_grad_(), k, v)[0] == "triton"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x: x.to_sparse(), "layout torch.sparse_coo"),
        (lambda x: x[0, 0].to_sparse_csr(), "layout torch.sparse_csr"),
        (lambda x: torch.nested.nested_tensor([x[0], x[0, :, :3]]), "a nested tensor"),
        (lambda x: torch.nested.nested_tensor([x[0, 0], x[0, 0, :3]], layout=torch.jagged), "a nested tensor"),
    ],
)
@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_tensor_of_another_layout_is_told_how_lengths_are_packed(change, said: str, place: int, impl: str) -> None:  # type: ignore[no-untyped-def]
    qkv = list(random_qkv(VISIBLE))
    qkv[place] = change(qkv[place])
    with pytest.raises(TypeError, match=f"{'qkv'[place]} must be a dense torch.Tensor, got {said}; .* are packed"):
        attention(*qkv, MASK, impl=impl)  # type: ignore[call-overload]


def test_tensors_without_data_give_shapes(impl: str) -> None:
    q, k, v = (x.to("meta") for x in random_qkv(VISIBLE, v_head_dim=24, dtype=torch.bfloat16))
    o, lse = attention(q, k, v, MASK, impl=impl, return_lse=True)  # type: ignore[call-overload]
    real, real_lse = attention(*random_qkv(VISIBLE, v_head_dim=24, dtype=torch.bfloat16), MASK, return_lse=True)
    for empty, full in ((o, real), (lse, real_lse)):
        assert (empty.is_meta, empty.shape, empty.dtype) == (True, full.shape, full.dtype)


@pytest.mark.parametrize(
    "statement",
    [
        "import compilemask; f = compilemask.attention",
        "from compilemask.attention import choose_impl; import compilemask; f = compilemask.attention",
        "import compilemask; compilemask.attention; from compilemask.attention import choose_impl; f = compilemask.attention",
        "from compilemask import attention as f",
        "import compilemask.attention.api; import compilemask; f = compilemask.attention",
    ],
)
def test_the_package_can_be_called_whatever_was_imported_first(statement: str) -> None:
    code = f"""{statement}
import torch
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import rectangle
mask = MaskDescriptor.from_runs(2, 3, rectangle(0, 2, 0, 3))
x = torch.ones(1, 1, 3, 4)
print(f(x[:, :, :2], x, x, mask).sum().item())"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["8.0"], "")


def test_the_callable_package_shows_the_function_s_signature() -> None:
    import compilemask.attention as package

    assert inspect.signature(package) == inspect.signature(attention)
    q, k, v = random_qkv(VISIBLE)
    assert torch.equal(functools.partial(package, mask=MASK)(q, k, v), attention(q, k, v, MASK))


@pytest.mark.parametrize(
    "statement",
    [
        "import compilemask; found = compilemask.attention",
        "from compilemask import attention as found",
        "import compilemask.attention; found = compilemask.attention",
    ],
)
def test_the_first_access_has_everything_that_the_package_has(statement: str) -> None:
    code = f"{statement}\nprint(callable(found), found.merge.__name__, found.choose_impl.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "merge", "choose_impl"]
