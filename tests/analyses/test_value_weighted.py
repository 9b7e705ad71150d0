"""Value-weighted maps against the vectors themselves, T × T × d_model of them, in float64."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.analyses.value_weighted import value_weighted, value_weighted_sum
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError

module = import_module("viz_encoder.analyses.value_weighted")

TEXTS = ["The animal didn't cross the street because it was too tired", "A short one"]


@pytest.fixture(scope="module")
def runs(minilm):
    """A padded text run of a post-norm model, and a picture of a pre-norm one."""
    scene = vz.load("scene", device="cpu")
    picture = vz.capture(scene, asset("examples/digit.png"))
    return {"text": (minilm, vz.capture(minilm, TEXTS)[1]), "scene": (scene, picture)}


def vectors(encoder, trace, layer):
    """What each key adds to each query by each head: the layer's own projection, asked head by
    head with all other heads silent, less what it says when all are."""
    o = encoder.model.layers[layer].attn.o
    n_heads, d_head = encoder.config.n_heads, encoder.config.d_head
    maps = trace.attention(layer).double()
    added = []
    with torch.no_grad():
        for head in range(n_heads):
            only = torch.zeros(trace.n_tokens, n_heads, d_head)
            only[:, head] = trace.layers[layer].v[head]
            out = o(only.flatten(1)).double() - o(torch.zeros(1, n_heads * d_head)).double()
            added.append(maps[head][:, :, None] * out[None])
    return torch.stack(added)  # head query key d_model


@pytest.mark.parametrize("which", ["text", "scene"])
@pytest.mark.parametrize("layer", [0, 2])
@pytest.mark.parametrize("block_bytes", [2**26, 700])
def test_the_norms_are_those_of_the_vectors(runs, which, layer, block_bytes, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", block_bytes)
    encoder, trace = runs[which]
    expected = vectors(encoder, trace, layer)
    found = value_weighted(encoder, trace, layer)
    each = expected.norm(dim=-1).numpy()
    assert found.heads == tuple(range(encoder.config.n_heads)) and found.first_query == 0
    assert np.abs(found.norms - each).max() <= 1e-6 * each.max()
    together = value_weighted_sum(encoder, trace, layer)
    summed = expected.sum(dim=0).norm(dim=-1).numpy()
    assert np.abs(together.norms - summed).max() <= 1e-6 * summed.max()
    assert (summed < 0.9 * each.sum(axis=0)).any()  # heads do cancel, so this is another number
    assert not found.norms[..., ~trace.valid.numpy()].any()
    assert not together.norms[..., ~trace.valid.numpy()].any()


def test_the_vectors_sum_to_what_the_layer_adds(scene):
    """Pre-norm: what a query's keys add, and W_O's bias, is the step of the residual stream."""
    trace = vz.capture(scene, asset("examples/digit.png"))
    block = scene.model.layers[1]
    with torch.no_grad():
        step = block.attn(block.attn_norm(trace.hidden(1)[None].clone()))[0].double()
        total = vectors(scene, trace, 1).sum(dim=(0, 2)) + block.attn.o.bias.double()
    assert (step - total).abs().max() <= 1e-5 * step.abs().max()


def test_one_head_and_some_rows(runs):
    encoder, trace = runs["text"]
    whole = value_weighted(encoder, trace, 3)
    part = value_weighted(encoder, trace, 3, head=5, rows=slice(2, 4))
    assert part.heads == (5,) and part.first_query == 2 and part.norms.shape == (2, trace.n_tokens)
    assert np.abs(part.norms - whole.norms[5, 2:4]).max() <= 1e-6
    assert np.allclose(part.value_norms, whole.value_norms[5])
    assert list(part.columns()) == ["query", "key", "norms"]
    last = value_weighted_sum(encoder, trace, 3, rows=slice(-2, None))
    assert last.first_query == trace.n_tokens - 2
    assert np.allclose(last.norms, value_weighted_sum(encoder, trace, 3).norms[-2:])


def test_grouped_heads_share_their_values():
    """A run that kept one value for several heads is read as if each had its own."""
    config = vz.EncoderConfig(n_layers=2, n_heads=6, d_model=48, d_ff=64, vocab_size=40)
    encoder = vz.Encoder(config).eval()
    with torch.no_grad():
        for part in ("k", "v"):  # heads 0 to 2 have one key and value, and so have 3 to 5
            of_head = encoder.get_parameter(f"layers.0.attn.{part}.weight").unflatten(0, (2, 3, 8))
            of_head.copy_(of_head[:, :1].clone().expand_as(of_head))
            encoder.get_parameter(f"layers.0.attn.{part}.bias").zero_()
    many = vz.capture(encoder, [3, 1, 4, 1, 5])
    layer = many.layers[0]
    few = replace(many, layers=(replace(layer, k=layer.k[::3], v=layer.v[::3]), many.layers[1]))
    found = [value_weighted(vz.load(encoder), each, 0).norms for each in (few, many)]
    assert np.allclose(*found, rtol=1e-5, atol=1e-7)


def test_what_is_not_there_is_said(runs, minilm):
    (_, text), (scene, picture) = runs["text"], runs["scene"]
    for compute in (value_weighted, value_weighted_sum):
        with pytest.raises(SelectionError, match=r"d_model 384, but scene has .* the model that"):
            compute(scene, text, 0)
        with pytest.raises(SelectionError, match="forward slice"):
            compute(scene, picture, 0, rows=slice(0, 9, 2))
        crossed = replace(picture, layers=(replace(picture.layers[0], cross=True),) * 4)
        refused(SelectionError, "cross-attention", compute, scene, crossed, 0)
