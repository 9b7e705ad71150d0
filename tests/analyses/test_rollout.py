"""Rollout against the textbook's matrices, written separately."""

from importlib import import_module

import numpy as np
import pytest
import torch

import viz_encoder as vz
from viz_encoder.analyses.rollout import rollout, rollout_matrix
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError

rollout_module = import_module("viz_encoder.analyses.rollout")

TEXTS = ["The animal didn't cross the street because it was too tired", "A short one"]


@pytest.fixture(scope="module")
def traces(minilm):
    return vz.capture(minilm, TEXTS)


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
@pytest.mark.parametrize("block_bytes", [2**26, 4 * 12 * 15 * 4])
def test_rollout_equals_the_textbook(traces, fuse, which, block_bytes, monkeypatch):
    monkeypatch.setattr(rollout_module, "BLOCK_BYTES", block_bytes)
    trace = traces[which]
    for query in (0, 2, 4):
        found = rollout(trace, query, fuse).rows
        expected = np.stack([after[query] for after in by_matrices(trace, fuse)])
        assert np.abs(found - expected).max() <= 1e-6
        assert np.allclose(found.sum(axis=1), 1, atol=1e-5)
        assert not found[:, ~trace.valid.numpy()].any()


@pytest.mark.parametrize(("query", "fuse"), [(-1, "mean"), (99, "mean"), (0, "median")])
def test_what_is_not_there_is_said(traces, query, fuse):
    with pytest.raises(SelectionError, match="choose"):
        rollout(traces[0], query, fuse)


@pytest.mark.parametrize("fuse", ["mean", "max", "min"])
@pytest.mark.parametrize("which", [0, 1])
def test_the_whole_matrix(traces, fuse, which):
    trace = traces[which]
    found = rollout_matrix(trace, fuse).shares
    assert np.abs(found - by_matrices(trace, fuse)[-1]).max() <= 1e-6
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)
    assert np.abs(found[3] - rollout(trace, 3, fuse).rows[-1]).max() <= 1e-6
    real = trace.valid.numpy()
    assert not found[real][:, ~real].any()


def test_the_whole_matrix_of_a_pre_norm_model():
    trace = vz.capture(vz.load("scene", device="cpu"), asset("examples/digit.png"))
    found = rollout_matrix(trace).shares
    assert np.abs(found - by_matrices(trace, "mean")[-1]).max() <= 1e-6


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


def test_a_long_matrix_is_refused(traces, monkeypatch):
    monkeypatch.setattr(rollout_module, "MAX_SIDE", traces[0].n_tokens)
    assert len(rollout_matrix(traces[0]).shares) == traces[0].n_tokens
    monkeypatch.setattr(rollout_module, "MAX_SIDE", traces[0].n_tokens - 1)
    with pytest.raises(SelectionError, match=r"a whole rollout takes at most 14; .*rollout\(trace"):
        rollout_matrix(traces[0])
    with pytest.raises(SelectionError, match="choose one of mean"):
        rollout_matrix(traces[0], "median")
