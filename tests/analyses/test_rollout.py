"""Rollout against the textbook's matrices, written separately."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.analyses.rollout import rollout, rollout_matrix
from viz_encoder.errors import SelectionError

rollout_module = import_module("viz_encoder.analyses.rollout")


def by_matrices(trace, fuse):
    """The whole rollout after each layer, as in the paper: float64, T × T, first layer to last."""
    total, after = np.eye(trace.n_tokens), []
    for layer in range(trace.n_layers):
        fused = getattr(trace.attention(layer).numpy().astype(np.float64), fuse)(axis=0)
        fused = fused / fused.sum(axis=1, keepdims=True)
        total = (0.5 * fused + 0.5 * np.eye(trace.n_tokens)) @ total
        after.append(total)
    return after


@pytest.mark.parametrize("fuse", ["mean", "max", "min"])
@pytest.mark.parametrize("which", [0, 1])
def test_rollout_equals_the_textbook(traces, fuse, which, monkeypatch):
    trace = traces[which]
    every = by_matrices(trace, fuse)
    for block_bytes in (4 * 12 * 15 * 4, 2**26):
        monkeypatch.setattr(rollout_module, "BLOCK_BYTES", block_bytes)
        for query in (0, 2, 4):
            found = rollout(trace, query, fuse).rows
            expected = np.stack([after[query] for after in every])
            assert np.abs(found - expected).max() <= 1e-6, block_bytes
            assert np.allclose(found.sum(axis=1), 1, atol=1e-5)
            assert not found[:, ~trace.valid.numpy()].any()
    found = rollout_matrix(trace, fuse).shares
    assert np.abs(found - every[-1]).max() <= 1e-6
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)
    assert np.abs(found[3] - rollout(trace, 3, fuse).rows[-1]).max() <= 1e-6
    real = trace.valid.numpy()
    assert not found[real][:, ~real].any()


def test_a_query_that_attends_to_nothing_keeps_its_share(minilm):
    mask = torch.ones(6, 6, dtype=torch.bool)
    mask[2] = False
    trace = vz.capture(minilm, "one two three four", mask=mask)
    assert trace.n_tokens == 6 and not trace.attention(0)[:, 2].any()
    alone = np.eye(6)[2]
    assert np.array_equal(rollout_matrix(trace).shares[2], alone)
    assert np.array_equal(rollout(trace, 2).rows, np.stack([alone] * 6))
    for query in range(6):
        row = rollout(trace, query).rows[-1]
        assert row.sum() == pytest.approx(1, abs=1e-5)
        assert np.abs(rollout_matrix(trace).shares[query] - row).max() <= 1e-6


def logarithms(trace, layer):
    """ln of each head's weights, from the queries and keys that ran, in float64."""
    ran = trace.layers[layer]
    scores = (ran.q.double() @ ran.k.double().mT * ran.scale).numpy()
    if ran.mask is not None:
        scores = np.where(ran.mask.numpy(), scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    return scores - top - np.log(np.exp(scores - top).sum(axis=-1, keepdims=True))


@pytest.mark.parametrize(
    "sharpness", [300, 3000, 100_000]
)  # below float32, below float64, far below
@pytest.mark.parametrize("padded", [False, True])
def test_the_minimum_where_heads_share_no_key(sharpness, padded):
    torch.manual_seed(1)
    encoder = vz.Encoder(vz.EncoderConfig(n_layers=3, n_heads=4, d_model=32, vocab_size=30)).eval()
    ids = torch.randint(1, 30, (2, 9))
    valid = torch.ones(2, 9, dtype=torch.bool)
    valid[:, 7:] = not padded
    ran = vz.capture(encoder, ids, valid=valid)[0]
    layers = tuple(replace(layer, scale=sharpness * layer.scale) for layer in ran.layers)
    trace = replace(ran, layers=layers)
    total = np.eye(9)
    for layer in range(3):
        least = logarithms(trace, layer).min(axis=0)
        fused = np.exp(least - least.max(axis=-1, keepdims=True))
        total = (fused / fused.sum(axis=-1, keepdims=True) + np.eye(9)) / 2 @ total
    in_float32 = trace.attention(0).amin(dim=0).sum(dim=-1)
    assert float(in_float32.min()) < 1e-38 and abs(total - np.eye(9)).max() > 0.3
    assert np.abs(rollout_matrix(trace, "min").shares - total).max() <= 1e-6
    for query in range(9):
        assert np.abs(rollout(trace, query, "min").rows[-1] - total[query]).max() <= 1e-6


def test_masks_that_share_no_key_leave_the_residual_alone():
    encoder = vz.Encoder(vz.EncoderConfig(n_layers=2, n_heads=2, d_model=16, vocab_size=30)).eval()
    left = torch.zeros(6, 6, dtype=torch.bool)
    left[:, :3] = True
    masks = {(layer, head): ~left if head else left for layer in range(2) for head in range(2)}
    trace = vz.capture(encoder, [1, 2, 3, 4, 5, 6], mask=masks)
    assert np.array_equal(rollout_matrix(trace, "min").shares, np.eye(6))


def test_numbers_that_are_none_are_not_hidden(minilm):
    trace = vz.capture(minilm, "one two")
    q = trace.layers[5].q.clone()
    q[3, 1] = torch.nan
    broken = replace(trace, layers=(*trace.layers[:5], replace(trace.layers[5], q=q)))
    for fuse in ("mean", "max", "min"):
        assert np.isnan(rollout(broken, 1, fuse).rows[5]).all()
        assert np.isfinite(rollout(broken, 1, fuse).rows[4]).all()


def test_a_long_matrix_is_refused(traces, monkeypatch):
    monkeypatch.setattr(rollout_module, "MAX_SIDE", traces[0].n_tokens)
    assert len(rollout_matrix(traces[0]).shares) == traces[0].n_tokens
    monkeypatch.setattr(rollout_module, "MAX_SIDE", traces[0].n_tokens - 1)
    with pytest.raises(SelectionError, match=r"a whole rollout takes at most 14; .*rollout\(trace"):
        rollout_matrix(traces[0])
    refused(SelectionError, "choose one of mean", rollout_matrix, traces[0], "median")
