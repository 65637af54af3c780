"""A small model of Transformers gives the losses and gradients of its own eager attention, whatever its mask."""

from __future__ import annotations

import copy
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import Tensor

import compilemask
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.nn import register_hugging_face
from compilemask.nn.hugging_face import describe_mask, hugging_face_attention

LENGTHS = [7, 1, 12, 4]
TOTAL = sum(LENGTHS)
PACKED = compilemask.compile(compilemask.preset_source("documents")).bind(lengths=LENGTHS)


@pytest.fixture(scope="module")
def transformers():  # type: ignore[no-untyped-def]
    found = pytest.importorskip("transformers", reason="the extra hugging-face is not installed")
    register_hugging_face()
    return found


def models(transformers, **config: object) -> list[torch.nn.Module]:  # type: ignore[no-untyped-def]
    """Two equal tiny models: eager, and ours."""
    torch.manual_seed(0)
    eager = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, attn_implementation="eager", **config,
        )
    )  # fmt: skip
    ours = copy.deepcopy(eager)
    ours.set_attn_implementation("compilemask")
    return [eager, ours]


def packed_inputs() -> dict[str, Tensor]:
    ids = torch.randint(40, (1, TOTAL), generator=torch.Generator().manual_seed(1))
    positions = torch.cat([torch.arange(length) for length in LENGTHS])[None]
    return {"input_ids": ids, "labels": ids, "position_ids": positions}


@pytest.mark.parametrize("given", [{}, {"compilemask": PACKED}], ids=["described by Transformers", "our mask"])
def test_packed_documents_train_alike(transformers, given: dict[str, object]) -> None:  # type: ignore[no-untyped-def]
    eager, ours = models(transformers)
    steps = [torch.optim.SGD(model.parameters(), lr=0.5) for model in (eager, ours)]
    for _ in range(3):
        losses = []
        for model, step, more in ((eager, steps[0], {}), (ours, steps[1], given)):
            step.zero_grad()
            losses.append(model(**packed_inputs(), use_cache=False, **more).loss)
            losses[-1].backward()
        assert torch.allclose(losses[0], losses[1], rtol=1e-5)
        for a, b in zip(eager.parameters(), ours.parameters(), strict=True):
            assert torch.allclose(a.grad, b.grad, rtol=1e-4, atol=1e-6)
        for step in steps:
            step.step()
    assert losses[0] < 3.6  # it learns: ln 40 = 3.69 at first


def test_the_mask_of_the_call_is_the_one_that_counts(transformers) -> None:  # type: ignore[no-untyped-def]
    _, ours = models(transformers)
    inputs = packed_inputs()
    del inputs["position_ids"]
    causal = compilemask.compile(compilemask.preset_source("causal")).bind(n=TOTAL)
    assert torch.equal(ours(**inputs).loss, ours(**inputs, compilemask=causal).loss)
    assert not torch.allclose(ours(**inputs).loss, ours(**inputs, compilemask=PACKED).loss)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padded_batches_give_the_real_tokens_what_eager_gives(transformers, side: str) -> None:  # type: ignore[no-untyped-def]
    ids = torch.randint(40, (2, 9), generator=torch.Generator().manual_seed(2))
    real = torch.ones(2, 9, dtype=torch.int64)
    real[1, slice(0, 3) if side == "left" else slice(6, 9)] = 0
    eager, ours = (model(ids, attention_mask=real).logits for model in models(transformers))
    assert torch.allclose(eager[real.bool()], ours[real.bool()], atol=1e-5)


def test_generation_with_a_cache_continues_as_eager_does(transformers) -> None:  # type: ignore[no-untyped-def]
    ids = torch.randint(40, (2, 6), generator=torch.Generator().manual_seed(3))
    options = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    eager, ours = (model.eval().generate(ids, **options) for model in models(transformers))
    assert torch.equal(eager, ours)


def test_layers_share_one_description_and_plain_causal_is_never_expanded(transformers) -> None:  # type: ignore[no-untyped-def]
    plain = describe_mask(batch_size=2, q_length=1_000_000, kv_length=1_000_000)
    assert isinstance(plain.mask, MaskDescriptor)
    assert plain.mask is plain.mask
    assert plain.mask.visible_pairs == 1_000_000 * 1_000_001 // 2
    padded = describe_mask(
        batch_size=2, q_length=4, kv_length=4, attention_mask=torch.tensor([[1, 1, 1, 1], [0, 1, 1, 1]]).bool()
    )
    assert isinstance(padded.mask, MaskBatch)
    assert padded.mask.mask(0, 0).dense().sum(1).tolist() == [1, 2, 3, 4]
    assert padded.mask.mask(1, 0).dense().sum(1).tolist() == [0, 1, 2, 3]


def test_what_it_does_not_have_is_refused_in_words() -> None:
    x = torch.randn(1, 2, 5, 16)
    layer = torch.nn.Module()
    with pytest.raises(
        ValueError, match=r"no dropout of attention weights, got 0\.1: set the model's attention_dropout"
    ):
        hugging_face_attention(layer, x, x, x, None, dropout=0.1)
    with pytest.raises(ValueError, match="adds no position biases"):
        hugging_face_attention(layer, x, x, x, None, position_bias=x)
    with pytest.raises(
        ValueError, match=r"takes no added biases, got a torch.float32 attention_mask of shape \(1, 1, 5, 5\)"
    ):
        hugging_face_attention(layer, x, x, x, torch.zeros(1, 1, 5, 5))


def test_a_table_of_bools_or_no_mask_is_taken_as_it_stands() -> None:
    q, k, v = torch.randn(3, 2, 4, 6, 16)
    visible = torch.from_numpy(np.random.default_rng(0).random((2, 1, 6, 6)) < 0.5) | torch.eye(6, dtype=torch.bool)
    for mask, table in ((visible, visible), (None, torch.ones(6, 6, dtype=torch.bool))):
        o, weights = hugging_face_attention(torch.nn.Module(), q, k, v, mask)
        wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=table)
        assert weights is None
        assert torch.allclose(o, wanted.transpose(1, 2), atol=1e-5)


@pytest.mark.parametrize("by_call", [False, True])
def test_no_mask_at_all_is_causal_where_the_module_or_the_call_says_so(by_call: bool) -> None:
    q, k, v = torch.randn(3, 2, 4, 6, 16)
    layer, words = torch.nn.Module(), {"is_causal": True} if by_call else {}
    layer.is_causal = not by_call
    o, _ = hugging_face_attention(layer, q, k, v, None, **words)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(o, wanted.transpose(1, 2), atol=1e-5)
    last, _ = hugging_face_attention(layer, q[:, :, -1:], k, v, None, **words)
    assert torch.allclose(last, o[:, -1:], atol=1e-5)
    with pytest.raises(ValueError, match="no mask for 3 queries and 6 keys of a causal module"):
        hugging_face_attention(layer, q[:, :, :3], k, v, None, **words)
    everything, _ = hugging_face_attention(layer, q, k, v, None, is_causal=False)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert torch.allclose(everything, wanted.transpose(1, 2), atol=1e-5)


def test_without_transformers_the_extra_is_named() -> None:
    code = """import sys
sys.modules["transformers"] = None
from compilemask.nn import register_hugging_face
try:
    register_hugging_face()
except ModuleNotFoundError as problem:
    print(problem)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'compilemask-studio[hugging-face]'" in done.stdout, done.stderr
