"""Rollout against the textbook's matrices, written separately."""

import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.analyses import rollout as rollout_module
from viz_encoder.analyses.rollout import rollout
from viz_encoder.errors import SelectionError

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
