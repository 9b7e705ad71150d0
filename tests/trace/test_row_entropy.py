"""Entropy of rows from their scores, against the weights' own logarithms in double precision."""

import pytest
import torch

from viz_encoder.trace.row_measures import row_entropy

FEWEST = torch.finfo(torch.float32).min


def by_definition(weights):
    wide = weights.double()
    return -torch.special.xlogy(wide, wide).sum(dim=-1)


@pytest.mark.parametrize("level", [0.0, 20.0, 1_000.0, -20_000.0])
@pytest.mark.parametrize("spread", [0.1, 3.0, 300.0])
def test_however_large_the_scores_are(level, spread, rng):
    scores = torch.randn(3, 4, 40, generator=rng) * spread + level
    weights = scores.softmax(dim=-1)
    found = row_entropy(weights, scores.clone(), weights.sum(dim=-1), weights.amax(dim=-1))
    torch.testing.assert_close(found.double(), by_definition(weights), rtol=2e-5, atol=2e-6)


def test_forbidden_keys_and_a_row_of_none(rng):
    scores = torch.randn(3, 6, generator=rng).index_fill_(1, torch.tensor([1, 4]), FEWEST)
    scores[2] = FEWEST
    weights = scores.softmax(dim=-1)
    weights[2] = 0.0
    found = row_entropy(weights, scores, weights.sum(dim=-1), weights.amax(dim=-1))
    torch.testing.assert_close(found.double(), by_definition(weights), rtol=2e-5, atol=2e-6)
    assert found[2] == 0
