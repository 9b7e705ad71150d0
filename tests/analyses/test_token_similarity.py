"""Token similarity against scikit-learn and naive loops; padding enters no number."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import cosine_similarity

import viz_encoder as vz
from tests.by_hand import kept, layer_of, loud, run_of
from tests.refusals import refused
from viz_encoder.analyses.token_similarity import between_runs, over_smoothing, token_similarity
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError, TooLong, TraceError

TEXTS = ["A short one", "The animal didn't cross the street because it was too tired"]


@pytest.fixture(scope="module")
def padded(minilm):
    """A run with padding, whose hidden states are made large, so that they would be seen."""
    return loud(vz.capture(minilm, TEXTS)[0])


def of(hidden):
    """A run of nothing but these hidden states, "state token d_model"."""
    run = run_of(layer_of(torch.eye(hidden.shape[1])[None]))
    return replace(run, hidden_states=tuple(hidden), output=hidden[-1])


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("layer", [0, 3, 6])
def test_the_matrix_is_scikit_learn_s(padded, special, centered, layer):
    at = kept(padded, special)
    found = token_similarity(padded, layer, hide_special=not special, centered=centered)
    hidden = padded.hidden(layer)[at].double().numpy()
    expected = cosine_similarity(hidden - hidden.mean(axis=0) if centered else hidden)
    assert np.abs(found.cosines - expected).max() <= 2e-7
    assert found.tokens.tolist() == at and len(found.edges) == len(at) + 1


@pytest.mark.parametrize("special", [True, False])
def test_the_numbers_of_each_layer_are_those_of_loops(padded, special):
    at = kept(padded, special)
    found = over_smoothing(padded, hide_special=not special)
    for layer in range(7):
        hidden = padded.hidden(layer)[at].double().numpy()
        rest = hidden - hidden.mean(axis=0)
        pairs = [(i, j) for i in range(len(at)) for j in range(len(at)) if i != j]
        plain, turned = cosine_similarity(hidden), cosine_similarity(rest)
        assert found.cosine[layer] == pytest.approx(np.mean([plain[p] for p in pairs]), rel=1e-9)
        rms = np.sqrt(np.mean([turned[p] ** 2 for p in pairs]))
        assert found.centered[layer] == pytest.approx(rms, rel=1e-9)
        apart = np.sqrt((rest**2).sum() / (hidden**2).sum())
        assert found.apart[layer] == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize("n_tokens", [6, 40])
def test_more_tokens_than_dimensions_and_fewer(n_tokens):
    hidden = torch.randn(2, n_tokens, 12, generator=torch.Generator().manual_seed(1)) + 0.5
    found = over_smoothing(of(hidden))
    turned = cosine_similarity((hidden[1] - hidden[1].mean(dim=0)).double().numpy())
    squares = turned[~np.eye(n_tokens, dtype=bool)] ** 2
    assert found.centered[1] == pytest.approx(np.sqrt(squares.mean()), rel=1e-6)


@pytest.mark.parametrize("size", [1, 3, 4, 99])
def test_blocks_are_means_without_a_token_itself(minilm, size):
    trace = vz.capture(minilm, TEXTS[1])
    whole = token_similarity(trace, 4).cosines.astype(float)
    found = token_similarity(trace, 4, size=size)
    for i in range(len(found.edges) - 1):
        for j in range(len(found.edges) - 1):
            rows, cols = (range(*found.edges[n : n + 2].tolist()) for n in (i, j))
            cells = [whole[a, b] for a in rows for b in cols if a != b or len(rows) == 1]
            assert found.cosines[i, j] == pytest.approx(np.mean(cells), abs=1e-6)
    assert len(found.cosines) <= size


def test_collapsed_tokens_are_said_to_be_collapsed():
    same = torch.randn(1, 1, 16).expand(1, 5, 16).clone()
    same *= 1 + 1e-7 * torch.randn_like(same)  # rounding
    found = over_smoothing(of(same))
    assert found.cosine[0] == pytest.approx(1, abs=1e-6) and found.apart[0] < 1e-6
    assert np.isnan(found.centered[0])
    assert np.isnan(token_similarity(of(same), 0, centered=True).cosines).all()


def test_one_token_and_states_without_length():
    alone = over_smoothing(of(torch.randn(1, 1, 8)))
    assert np.isnan(alone.cosine[0]) and np.isnan(alone.centered[0]) and alone.apart[0] == 0
    hidden = torch.randn(1, 4, 8)
    without = over_smoothing(of(hidden[:, 1:])).cosine[0]
    hidden[0, 0] = 0
    found = token_similarity(of(hidden), 0).cosines
    assert np.isnan(found[0]).all() and np.isfinite(found[1:, 1:]).all()
    assert over_smoothing(of(hidden)).cosine[0] == pytest.approx(without)
    rest = of(hidden[:, 1:])
    with_it, alone = (between_runs([run, rest]).cosine[0] for run in (of(hidden), rest))
    assert with_it == pytest.approx(alone)


def test_between_runs_is_the_mean_of_all_pairs(padded, minilm):
    other = vz.capture(minilm, TEXTS[1])
    third = vz.capture(minilm, "Rain")
    found = between_runs([padded, other, third], hide_special=True)
    for layer in (0, 6):
        parts = [t.hidden(layer)[kept(t, False)].double().numpy() for t in (padded, other, third)]
        pairs = [(0, 1), (0, 2), (1, 2)]
        cells = [cosine_similarity(parts[a], parts[b]).ravel() for a, b in pairs]
        assert found.cosine[layer] == pytest.approx(np.concatenate(cells).mean(), rel=1e-9)
    refused(SelectionError, "1 runs", between_runs, [padded])


def test_a_picture_s_prefix_token_is_left_out_by_name():
    trace = vz.capture(vz.load("scene", device="cpu"), asset("examples/digit.png"))
    assert token_similarity(trace, 1, hide_special=True).tokens.tolist() == list(range(1, 101))


def test_long_runs_give_numbers_and_no_matrix():
    hidden = torch.randn(2, 2100, 6, generator=torch.Generator().manual_seed(0))
    trace = of(hidden)
    refused(TooLong, r"2,100 tokens.*at most 2,048", token_similarity, trace, 0)
    assert token_similarity(trace, 0, size=300).cosines.shape == (300, 300)
    cosines = cosine_similarity(hidden[1].double().numpy())
    expected = cosines[~np.eye(2100, dtype=bool)].mean()
    assert over_smoothing(trace).cosine[1] == pytest.approx(expected, rel=1e-6)


def test_what_is_not_there_is_said(padded):
    with pytest.raises(SelectionError, match="hide_special=False"):
        own = replace(padded.sample, special=(True,) * padded.n_tokens)
        token_similarity(replace(padded, sample=own), 0, hide_special=True)
    broken = of(torch.full((1, 3, 4), torch.nan))
    refused(TraceError, "NaN", token_similarity, broken, 0)
    with pytest.raises(SelectionError, match="kept no hidden states"):
        over_smoothing(replace(padded, hidden_states=()))
