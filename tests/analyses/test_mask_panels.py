"""Intended, passed and observed cell by cell, for one head and for several, short and pooled."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.by_hand import maps_of
from tests.refusals import refused
from viz_encoder.analyses.mask_leaks import mask_panels
from viz_encoder.errors import InputError

TEXT = "The bank approved the loan because it could"


@pytest.fixture(scope="module")
def plain(minilm):
    return vz.capture(minilm, TEXT)


@pytest.fixture(scope="module")
def causal(plain):
    return torch.ones(plain.n_tokens, plain.n_tokens).tril().bool()


def test_a_mask_that_was_ignored_leaks_in_every_cell_it_forbids(plain, causal):
    found = mask_panels(plain, causal, 3, 5)
    weights = plain.attention(3, 5).numpy()
    np.testing.assert_array_equal(found.intended, causal)
    assert found.passed.all()
    np.testing.assert_allclose(found.observed, weights, atol=1e-7)
    np.testing.assert_array_equal(found.leaking, (weights > 0) & ~np.tri(len(causal), dtype=bool))


def test_a_mask_that_ran_leaks_nowhere(minilm, causal):
    trace = vz.capture(minilm, TEXT, mask=causal)
    found = mask_panels(trace, causal, 2, 1)
    np.testing.assert_array_equal(found.passed, causal)
    assert not found.observed[~causal.numpy()].any() and not found.leaking.any()


@pytest.mark.parametrize("head", ["mean", "max", (1, 4, 7)])
def test_heads_are_fused_as_on_the_big_map(plain, causal, head):
    weights = plain.attention(1).double().numpy()
    weights = weights[list(head)] if isinstance(head, tuple) else weights
    expected = weights.max(axis=0) if head == "max" else weights.mean(axis=0)
    np.testing.assert_allclose(mask_panels(plain, causal, 1, head).observed, expected, atol=1e-7)


def test_pooled_cells_hold_the_largest_and_any(plain, causal):
    found = mask_panels(plain, causal, 0, 2, size=4)
    weights, edges = plain.attention(0, 2).numpy(), found.edges
    assert edges[0] == 0 and edges[-1] == plain.n_tokens and len(edges) == 5
    for row, col in np.ndindex(4, 4):
        part = np.s_[edges[row] : edges[row + 1], edges[col] : edges[col + 1]]
        assert found.observed[row, col] == pytest.approx(weights[part].max(), abs=1e-7)
        assert found.intended[row, col] == bool(causal.numpy()[part].any())
        assert found.leaking[row, col] == bool((~causal.numpy()[part]).any())


def test_padding_queries_do_not_leak(minilm):
    short, _ = vz.capture(minilm, ["The bank", TEXT])
    nothing = torch.zeros(short.n_tokens, short.n_tokens, dtype=torch.bool)
    leaking = mask_panels(short, nothing, 0, 0).leaking
    real = int(short.valid.sum())
    assert leaking[:real, :real].all() and not leaking[real:].any() and not leaking[:, real:].any()


def test_faults_are_sentences(plain, causal):
    refused(InputError, "True = may attend", mask_panels, plain, causal[:3, :3], 0, 0)


@pytest.mark.parametrize("size", [4, 512])
@pytest.mark.parametrize("passed", [torch.Tensor.logical_not, torch.t])
def test_a_pair_that_is_meant_and_not_passed_is_lost_not_faint(minilm, causal, passed, size):
    found = mask_panels(vz.capture(minilm, TEXT, mask=passed(causal)), causal, 3, 1, size=size)
    lost = causal.numpy() & ~passed(causal).numpy()
    assert (found.n_allowed, found.n_lost) == (causal.sum(), lost.sum())
    assert found.n_faint <= causal.sum() - lost.sum()  # nothing, where all is lost
    for row, col in np.ndindex(found.lost.shape):
        (top, bottom), (left, right) = found.edges[row : row + 2], found.key_edges[col : col + 2]
        assert found.lost[row, col] == lost[top:bottom, left:right].any()


@pytest.mark.parametrize("size", [4, 512])
@pytest.mark.parametrize("head", [1, "mean"])
def test_allowed_pairs_with_hardly_any_weight_are_counted_whole(minilm, causal, head, size):
    trace = vz.capture(minilm, TEXT, mask=causal)
    weights = maps_of(trace, 3)
    weights = weights.mean(axis=0) if head == "mean" else weights[head]
    found = mask_panels(trace, causal, 3, head, size=size)
    allowed = causal.numpy()
    assert found.n_allowed == allowed.sum()
    assert found.n_faint == (allowed & (weights < 1e-3)).sum() and found.n_lost == 0
    assert head == "mean" or found.n_faint > 0


def test_padding_queries_and_forbidden_pairs_are_not_faint(minilm):
    short, _ = vz.capture(minilm, ["The bank", TEXT])
    n, real = short.n_tokens, short.valid.numpy()
    first = torch.zeros(n, n, dtype=torch.bool)
    first[:, :3] = True
    found = mask_panels(short, first, 2, 1)
    weights = short.attention(2, 1).double().numpy()
    assert found.n_allowed == 3 * real.sum()
    assert found.n_faint == (weights[real, :3] < 1e-3).sum()
