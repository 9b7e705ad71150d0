"""Distances between heads against their definition in numpy over whole maps."""

import numpy as np
import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.by_hand import whole_maps
from viz_encoder.analyses.similar_heads import similar_heads
from viz_encoder.trace import head_rows
from viz_encoder.trace.row_measures import head_distances


def by_definition(trace, layer, head, queries) -> np.ndarray:
    """√JSD as the mean of two Kullback–Leibler divergences to the middle, in bits."""
    maps = whole_maps(trace)
    p, q = maps[:, :, queries], maps[layer, head, queries][None, None]
    middle = (p + q) / 2
    divergence = sum(
        (each * np.log2(np.where(each > 0, each, 1) / np.where(each > 0, middle, 1))).sum(axis=-1)
        for each in (p, np.broadcast_to(q, p.shape))
    )
    return np.sqrt(np.clip(divergence / 2, 0, None)).mean(axis=-1)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("block_bytes", [2**20, 4 * 15 * 4])
def test_distances_are_those_of_whole_maps(traces, which, block_bytes, monkeypatch):
    monkeypatch.setattr(head_rows, "BLOCK_BYTES", block_bytes)
    trace = traces[which]
    real = trace.valid.nonzero().flatten().numpy()
    for layer, head in [(3, 1), (0, 0)]:
        found = similar_heads(trace, layer, head)
        expected = by_definition(trace, layer, head, real)
        assert found.n_queries == len(real) and found.distances.shape == expected.shape
        apart = np.abs(found.distances - expected)
        apart[layer, head] = 0  # of itself, both are the root of a rounding error
        assert apart.max() <= 2e-5 * expected.max()
        assert found.distances[layer, head] < 1e-3
        assert found.distances.max() <= 1 and expected.max() > 0.3
        order = np.argsort(expected, axis=None, kind="stable")[1:6]
        assert found.nearest(5) == tuple((int(at) // 12, int(at) % 12) for at in order)


def test_few_queries_are_spread_over_the_text(traces):
    found = similar_heads(traces[0], 2, 3, most_queries=3)
    assert found.n_queries == 3
    apart = np.abs(found.distances - by_definition(traces[0], 2, 3, [0, 7, 14]))
    apart[2, 3] = 0
    assert apart.max() <= 2e-5


def test_a_device_needs_no_float64():
    class Float32(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            found = [one for one in tree_leaves(out) if isinstance(one, torch.Tensor)]
            assert all(one.dtype != torch.float64 or one.device.type == "cpu" for one in found)
            return out

    with FakeTensorMode(), Float32():
        found = head_distances(torch.rand(3, 4, 5, device="cuda"))
        assert found.dtype == torch.float64
