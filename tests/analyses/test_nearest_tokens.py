"""Nearest tokens against a naive sort of scikit-learn's cosines."""

from dataclasses import replace

import pytest
import torch
from sklearn.metrics.pairwise import cosine_similarity

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.analyses.nearest_tokens import nearest_tokens
from viz_encoder.errors import SelectionError

TEXTS = ["The bank of the river", "The animal didn't cross the street because it was too tired"]


@pytest.fixture(scope="module")
def padded(minilm):
    """Padding is made a copy of a token, so that it would be its nearest neighbor."""
    trace = vz.capture(minilm, TEXTS)[0]
    tempting = tuple(
        torch.where(trace.valid[:, None], state, state[2]) for state in trace.hidden_states
    )
    return replace(trace, hidden_states=tempting)


@pytest.mark.parametrize("among", [None, (0,), (4,), (2, 4, 6), tuple(range(7))])
@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("token", [0, 2])
def test_they_are_the_nearest(padded, among, special, token):
    found = nearest_tokens(padded, token, 4, among=among, hide_special=not special, n=8)
    own = padded.hidden(4)[token].double().numpy()[None]
    every = []
    for layer in among or (4,):
        for other in range(padded.n_tokens):
            if not padded.valid[other] or (padded.sample.special[other] and not special):
                continue
            if (layer, other) != (4, token):
                state = padded.hidden(layer)[other].double().numpy()[None]
                every.append((float(cosine_similarity(own, state)[0, 0]), layer, other))
    every.sort(reverse=True)
    got = list(zip(found.states.tolist(), found.neighbors.tolist(), strict=True))
    assert got == [(layer, other) for _, layer, other in every[:8]]
    assert found.cosines == pytest.approx([cosine for cosine, _, _ in every[:8]], abs=1e-12)


def test_equal_tokens_come_in_order(padded):
    same = tuple(torch.ones_like(state) for state in padded.hidden_states)
    found = nearest_tokens(replace(padded, hidden_states=same), 2, 0, among=(0, 1), n=99)
    real = int(padded.valid.sum())
    assert found.neighbors.tolist() == [*(n for n in range(real) if n != 2), *range(real)]
    assert found.states.tolist() == [0] * (real - 1) + [1] * real


def test_a_state_without_length_is_nobody_s_neighbor(padded):
    hidden = padded.hidden(0).clone()
    hidden[1] = 0
    without = replace(padded, hidden_states=(hidden, *padded.hidden_states[1:]))
    assert 1 not in nearest_tokens(without, 2, 0, n=99).neighbors
    refused(SelectionError, "length 0", nearest_tokens, without, 1, 0)


def test_what_is_not_there_is_said(padded):
    for call, says in (
        (lambda: nearest_tokens(padded, padded.n_tokens - 1, 0), "is padding"),
        (lambda: nearest_tokens(padded, 1, 0, among=[]), "among is empty"),
    ):
        refused(SelectionError, says, call)
