"""The survey over what is shown: special tokens left out, rows renormalized; against whole maps."""

from importlib import import_module

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.by_hand import layer_of, run_of, shown
from viz_encoder.analyses.pair import pair
from viz_encoder.analyses.survey import STATISTICS, survey, swept_layers
from viz_encoder.errors import SelectionError
from viz_encoder.trace.head_statistics import said
from viz_encoder.trace.token_selection import shown_tokens

survey_module = import_module("viz_encoder.analyses.survey")
TEXTS = ["The unbelievable animal didn't cross", "A short one", ("It rains.", "We walk outside.")]


@pytest.fixture(scope="module")
def traces(minilm):
    """A text, the same run padded beside it, and a pair with a special token in its middle."""
    return *vz.capture(minilm, TEXTS[:2]), vz.capture(minilm, TEXTS[2])


def by_loops(weights, kept, renormalize, valid):
    """Each statistic from the definition of it, query by query."""
    part = shown(weights, [[at] for at in kept], renormalize=renormalize)
    at = {token: place for place, token in enumerate(kept)}
    real = [token for token in kept if valid[token]]
    shares = {i: part[at[i]] / part[at[i]].sum() for i in real}

    def beside(shift):
        found = [part[at[i], at[i + shift]] for i in real if i + shift in real]
        return np.mean(found)

    return {
        "entropy": np.mean([-sum(p * np.log(p) for p in shares[i] if p > 0) for i in real]),
        "distance": np.mean(
            [sum(p * abs(i - j) for p, j in zip(shares[i], kept, strict=True)) for i in real]
        ),
        "previous": beside(-1),
        "next": beside(1),
        "same": beside(0),
        "first": np.mean([part[at[i], 0] for i in real]),
        "largest": max(part[at[i]].max() for i in real),
    }


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("block_bytes", [2**20, 200])
def test_statistics_are_of_what_is_shown(traces, hide, renormalize, block_bytes, monkeypatch):
    monkeypatch.setattr(survey_module, "BLOCK_BYTES", block_bytes)
    for trace in traces:
        check(trace, hide, renormalize)


def check(trace, hide, renormalize):
    kept = [at for at, special in enumerate(trace.sample.special) if not (hide and special)]
    found = survey(trace, hide_special=hide, renormalize=renormalize)
    for layer, head in ((0, 3), (5, 11)):
        weights = trace.attention(layer, head).double().numpy()
        expected = by_loops(weights, kept, renormalize, trace.valid.tolist())
        for name, value in expected.items():
            got = found[layer].statistics[name][head]
            assert got == pytest.approx(value, rel=2e-5, abs=2e-5), name
        assert np.isnan(found[layer].statistics["special"][head]) == hide
        part = shown(weights, [[at] for at in kept], renormalize=renormalize)
        part[:, ~trace.valid.numpy()[kept]] = np.nan
        assert np.allclose(found[layer].thumbnails_max[head], part, atol=2e-5, equal_nan=True)


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_means_of_keys_are_those_of_the_shown_map(traces, hide, renormalize, words):
    trace = traces[0]
    groups = shown_tokens(trace, hide_special=hide, words=words)
    for layer, (_, means) in enumerate(swept_layers(trace, 64, hide, renormalize, words)):
        weights = trace.attention(layer, 7).double().numpy()
        merged = shown(weights, groups, renormalize=renormalize)
        assert np.abs(means[7] - merged.mean(axis=0)).max() <= 2e-5


def test_what_it_can_be_at_most_is_reached_over_the_tokens_shown():
    """Hidden tokens lie between those that are shown; one head looks far, one evenly."""
    special = (True, False, False, True, False, True)
    kept = np.array([1, 2, 4])
    far = torch.eye(6)[torch.tensor([0, 4, 4, 0, 1, 0])]
    even = torch.full((6, 6), 1 / 6)
    trace = run_of(layer_of(torch.stack([far, even])), special=special)
    found = survey(trace, hide_special=True)[0].statistics
    told = said(kept, hide_special=True)
    assert found["distance"][0] == pytest.approx(told["distance"]["most"], abs=1e-6)
    assert found["distance"][1] == pytest.approx(told["distance"]["even"], abs=1e-6)
    assert found["entropy"][1] == pytest.approx(told["entropy"]["even"], abs=1e-6) == np.log(3)
    assert found["previous"][1] == pytest.approx(1 / 6)  # of the one query that has one shown


def test_each_statistic_says_over_what_it_is():
    places = np.arange(1, 5)
    plain, hidden = said(places), said(places, hide_special=True)
    both = said(places, hide_special=True, renormalize=True)
    assert plain == {name: each.of(4) for name, each in STATISTICS.items()}
    assert all("Special tokens are left out" in each["over"] for each in hidden.values())
    assert "not renormalized" in hidden["previous"]["over"]
    assert "not renormalized" not in both["previous"]["over"]
    assert "divided by its sum over the tokens shown" in both["previous"]["over"]
    assert "no weight on them is shown" in hidden["special"]["edge"]


def test_a_run_of_special_tokens_alone_cannot_be_shown_without_them():
    trace = run_of(layer_of(torch.eye(2)[None]), special=(True, True))
    with pytest.raises(SelectionError, match="show special tokens again"):
        survey(trace, hide_special=True)


@pytest.mark.parametrize("renormalize", [False, True])
def test_of_cross_attention_queries_are_hidden_and_never_keys(rng, renormalize):
    maps = torch.rand(2, 5, 7, generator=rng).softmax(dim=-1)
    trace = run_of(layer_of(maps, cross=True), special=(True, False, True, False, False))
    seen = maps[:, [1, 3, 4]].numpy()
    surveyed, means = next(swept_layers(trace, hide_special=True, renormalize=renormalize))
    assert surveyed.thumbnails_max == pytest.approx(seen, abs=1e-6)  # rows sum to 1 as they are
    assert means == pytest.approx(seen.mean(axis=1), abs=1e-6)
    found = pair(trace, 3, 5, hide_special=True, renormalize=renormalize)
    assert found.weights[0] == pytest.approx(seen[:, 1, 5], abs=1e-6)
    assert found.means[0] == pytest.approx(seen[:, :, 5].mean(axis=1), abs=1e-6)
