"""One cell in every head against whole maps, and its means against sums of whole columns."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.by_hand import layer_of, run_of, shown, whole_maps
from tests.refusals import refused
from viz_encoder.analyses.pair import pair
from viz_encoder.analyses.survey import swept_layers
from viz_encoder.errors import SelectionError
from viz_encoder.trace import head_rows
from viz_encoder.trace.token_selection import shown_tokens

IT, ANIMAL = 10, 2


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("block_bytes", [2**20, 4 * 15 * 4])
def test_weights_means_and_ratios_are_those_of_whole_maps(traces, which, block_bytes, monkeypatch):
    monkeypatch.setattr(head_rows, "BLOCK_BYTES", block_bytes)
    trace = traces[which]
    maps, real = whole_maps(trace), trace.valid.numpy()
    for query, key in [(0, 0), (3, 2), (1, 4)]:
        found = pair(trace, query, key)
        means = maps[:, :, real, key].mean(axis=2)
        assert np.abs(found.weights - maps[:, :, query, key]).max() <= 1e-6
        assert np.abs(found.means - means).max() <= 1e-6
        assert np.allclose(found.ratios, maps[:, :, query, key] / means, rtol=2e-5)


def test_the_sentence_that_everybody_knows(traces):
    """Two heads give the same weight; only one of them means this link."""
    found = pair(traces[0], "it", "animal")
    assert (found.query, found.key) == (IT, ANIMAL)
    assert set(found.ranked(2)) == {(5, 11), (3, 1)}
    assert found.weights[5, 11] == pytest.approx(0.647, abs=5e-4)
    assert found.weights[3, 1] == pytest.approx(0.640, abs=5e-4)
    assert found.ratios[3, 1] == pytest.approx(5.08, abs=0.01) and found.ratios[5, 11] < 2


def test_heads_are_ranked_by_either_measure(traces):
    found = pair(traces[0], IT, ANIMAL)
    for by, values in (("weight", found.weights), ("ratio", found.ratios)):
        ranked = found.ranked(100, by)
        assert len(ranked) == 72 and len(set(ranked)) == 72
        inside = [values[place] for place in ranked]
        assert inside == sorted(inside, reverse=True)
        assert found.ranked(5, by) == ranked[:5] and found.ranked(0, by) == ()
    assert found.ranked(5) != found.ranked(5, "ratio")
    refused(SelectionError, "by is 'key'; choose one of weight, ratio", found.ranked, 5, "key")


def test_a_forbidden_pair_is_nan_and_not_ranked(traces):
    padding = int((~traces[1].valid).nonzero()[0])
    found = pair(traces[1], 1, padding)
    assert np.isnan(found.weights).all() and np.isnan(found.ratios).all()
    assert (found.means == 0).all() and found.ranked() == () == found.ranked(5, "ratio")


def test_a_mask_of_each_head_and_query_counts(traces):
    """A causal mask for head 0 alone: earlier queries may not see the key, by that head."""
    trace = traces[0]
    n, ran = trace.n_tokens, trace.layers[0]
    mask = torch.ones(ran.n_heads, n, n, dtype=torch.bool)
    mask[0] = torch.ones(n, n).tril().bool()
    causal = replace(trace, layers=(replace(ran, mask=mask), *trace.layers[1:]))
    found = pair(causal, 3, 6)
    assert np.isnan(found.weights[0, 0]) and not np.isnan(found.weights[0, 1:]).any()
    expected = causal.attention(0, 0)[:, 6].mean()  # those that may not look count as 0
    assert found.means[0, 0] == pytest.approx(float(expected), abs=1e-6)
    assert not np.isnan(pair(causal, 6, 6).weights).any()


def test_known_means_are_taken_and_the_survey_has_them(traces):
    for trace in traces:
        means = [means for _, means in swept_layers(trace)]
        maps, real = whole_maps(trace), trace.valid.numpy()
        assert np.abs(np.stack(means) - maps[:, :, real].mean(axis=2)).max() <= 1e-6
        given = np.stack([layer[:, 2] for layer in means])
        found = pair(trace, 1, 2, means=given)
        assert found.means is given
        assert np.allclose(found.ratios, pair(trace, 1, 2).ratios, rtol=2e-5)


def test_cross_attention_and_layers_of_other_sizes(rng):
    """What a layer does not have is NaN; the keys of cross-attention are counted on their own."""
    few, many = (torch.rand(shape, generator=rng).softmax(-1) for shape in ((2, 4, 6), (3, 4, 9)))
    trace = run_of(layer_of(few, cross=True), layer_of(many, cross=True))
    found, beyond = pair(trace, 3, 5), pair(trace, 3, 8)
    assert found.weights.shape == (2, 3)
    assert np.array_equal(found.weights[0, :2], few[:, 3, 5]) and np.isnan(found.weights[0, 2])
    assert np.allclose(found.means[1], many[:, :, 5].mean(dim=1))
    assert np.isnan(beyond.weights[0]).all() and np.isnan(beyond.means[0]).all()
    assert np.array_equal(beyond.weights[1], many[:, 3, 8])
    refused(SelectionError, "There is no key 9; choose 0 to 8", pair, trace, 3, 9)
    refused(SelectionError, "There is no query 4; choose 0 to 3", pair, trace, 4, 8)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("block_bytes", [2**20, 4 * 15 * 4])
def test_a_pair_of_what_is_shown(minilm, words, block_bytes, monkeypatch):
    monkeypatch.setattr(head_rows, "BLOCK_BYTES", block_bytes)
    trace = vz.capture(minilm, "The electroencephalograph animal didn't cross")
    for hide, renormalize in product((False, True), repeat=2):
        check(trace, hide, renormalize, words)


def check(trace, hide, renormalize, words):
    groups = shown_tokens(trace, hide_special=hide, words=words)
    maps, both = shown(whole_maps(trace), groups, renormalize=renormalize), (2, trace.n_tokens - 3)
    row, column = (next(at for at, g in enumerate(groups) if token in g) for token in both)
    assert len(groups[row]) > 2 * words  # the query is a word of several sub-words
    found = pair(trace, *both, hide_special=hide, renormalize=renormalize, words=words)
    weights, means = maps[:, :, row, column], maps[:, :, :, column].mean(axis=2)
    assert np.abs(found.weights - weights).max() <= 2e-5
    assert np.abs(found.means - means).max() <= 2e-5
    assert np.allclose(found.ratios, weights / means, rtol=1e-4)


def test_a_hidden_special_token_cannot_be_chosen(traces):
    for chosen, says in (((0, 2), "Query 0 is a special"), ((2, 0), "Key 0 is a special")):
        refused(SelectionError, says, pair, traces[0], *chosen, hide_special=True)
        assert pair(traces[0], *chosen).weights.shape == (6, 12)
