"""The change of every head against a plain loop in numpy over both whole maps."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.by_hand import layer_of, maps_of
from viz_encoder.analyses.change import layer_change
from viz_encoder.errors import SelectionError
from viz_encoder.trace import head_rows

TEXTS = ["The cat sat on the mat", "The dog ran to the house"]  # one token a word


@pytest.fixture(scope="module")
def pair(minilm):
    """Two runs of as many tokens."""
    return [vz.capture(minilm, text) for text in TEXTS]


@pytest.fixture(scope="module")
def padded(minilm):
    """Two runs of one padded batch; the second ends in padding."""
    return vz.capture(minilm, ["The cat sat on the mat and slept", "The dog ran"])


def by_loops(before, after, real):
    """½ Σ |a − b| of each real query, and their mean."""
    out = []
    for old, new in zip(before, after, strict=True):
        each = [
            sum(abs(a - b) for a, b in zip(old[i], new[i], strict=True)) / 2
            for i in range(len(new))
            if real[i]
        ]
        out.append(sum(each) / len(each))
    return np.array(out)


@pytest.mark.parametrize("block_bytes", [2**20, 70, 4])
@pytest.mark.parametrize("layer", [0, 5])
def test_it_is_the_total_variation_distance(pair, layer, block_bytes, monkeypatch):
    monkeypatch.setattr(head_rows, "BLOCK_BYTES", block_bytes)
    found = layer_change(*pair, layer)
    real = [True] * pair[0].n_tokens
    expected = by_loops(*(maps_of(trace, layer) for trace in pair), real)
    assert found.heads == pytest.approx(expected, abs=2e-6)
    assert found.n_queries == len(real) and expected.max() > 0.1


def test_only_queries_that_are_real_in_both_runs_count(padded):
    first, second = padded
    assert not bool(second.valid.all())
    expected = by_loops(maps_of(first, 2), maps_of(second, 2), second.valid.tolist())
    every = by_loops(maps_of(first, 2), maps_of(second, 2), [True] * first.n_tokens)
    assert np.abs(every - expected).max() > 1e-3  # the padding would have counted
    for found in (layer_change(first, second, 2), layer_change(second, first, 2)):
        assert found.heads == pytest.approx(expected, abs=2e-6)
        assert found.n_queries == int(second.valid.sum())


def test_maps_without_a_key_in_common_are_1_apart(pair):
    trace = pair[0]
    n = trace.n_tokens
    here, there = torch.eye(n)[None], torch.eye(n).roll(1, dims=1)[None]
    runs = [replace(trace, layers=(layer_of(maps),)) for maps in (here, there)]
    assert layer_change(*runs, 0).heads.tolist() == [1.0]
    nothing = replace(trace, layers=(layer_of(torch.zeros_like(here)),))
    assert layer_change(runs[0], nothing, 0).heads.tolist() == [0.5]


def test_no_query_in_common_gives_nothing(pair):
    first, second = pair
    halves = torch.arange(first.n_tokens) < first.n_tokens // 2
    runs = replace(first, valid=halves), replace(second, valid=~halves)
    found = layer_change(*runs, 0)
    assert np.isnan(found.heads).all() and found.n_queries == 0


def test_maps_of_other_sizes_are_refused(minilm, pair):
    longer = vz.capture(minilm, "The cat sat on the mat and slept")
    with pytest.raises(
        SelectionError, match=r"8 queries × 8 keys, this run 12 heads of 10 queries"
    ):
        layer_change(longer, pair[0], 0)
