"""attention_weights and its small companions, against the formula written out."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from viz_encoder.model.attention import attention_weights, merge_heads, sign_off, signs, split_heads

HEADS, QUERIES, KEYS, WIDTH = 2, 4, 5, 3


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def by_hand(q, k, allowed, scale, bias):
    """One weight at a time, in Python's own floats."""
    out = torch.zeros(HEADS, QUERIES, KEYS, dtype=torch.float64)
    for h in range(HEADS):
        for i in range(QUERIES):
            open_keys = [j for j in range(KEYS) if allowed[h][i][j]]
            scores = {
                j: scale * sum(float(q[h, i, d]) * float(k[h, j, d]) for d in range(WIDTH))
                + float(bias[h, i, j])
                for j in open_keys
            }
            total = sum(math.exp(score) for score in scores.values())
            for j, score in scores.items():
                out[h, i, j] = math.exp(score) / total
    return out


Q, K = random(HEADS, QUERIES, WIDTH), random(HEADS, KEYS, WIDTH, seed=1)
BIAS = random(HEADS, QUERIES, KEYS, seed=2)
ALLOWED = random(HEADS, QUERIES, KEYS, seed=3) > -0.3
ALLOWED[1, 2] = False


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("scale", [None, 1.0, 0.25])
def test_it_is_the_formula(masked, biased, scale):
    got = attention_weights(Q, K, ALLOWED if masked else None, scale, BIAS if biased else None)
    expected = by_hand(
        *(Q, K, ALLOWED if masked else torch.ones_like(ALLOWED)),
        *(1 / math.sqrt(WIDTH) if scale is None else scale, BIAS if biased else 0 * BIAS),
    )
    assert float((got - expected).abs().max()) <= 1e-6


@pytest.mark.parametrize("shape", [(1, 1, KEYS), (HEADS, 1, KEYS), (1, QUERIES, KEYS)])
def test_masks_broadcast(shape):
    mask = random(*shape, seed=4) > 0
    whole = mask.expand(HEADS, QUERIES, KEYS)
    assert torch.equal(attention_weights(Q, K, mask), attention_weights(Q, K, whole))


def test_a_query_that_may_attend_to_nothing_has_zeros_and_others_sum_to_one():
    weights = attention_weights(Q, K, ALLOWED)
    assert float(weights[1, 2].abs().max()) == 0
    sums = weights.sum(dim=-1)
    assert torch.allclose(sums[ALLOWED.any(dim=-1)], torch.tensor(1.0), atol=1e-6)
    assert float(weights[~ALLOWED].abs().max()) == 0


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 9), st.floats(0, 1))
def test_rows_sum_to_one_over_allowed_keys(seed, n_queries, n_keys, share):
    q, k = random(1, n_queries, 2, seed=seed) * 20, random(1, n_keys, 2, seed=seed + 1) * 20
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(1, n_queries, n_keys, generator=generator) < share
    weights = attention_weights(q, k, mask)
    assert torch.allclose(weights.sum(dim=-1), mask.any(dim=-1).float(), atol=1e-6)
    assert bool((weights >= 0).all()) and bool((weights[~mask] == 0).all())


def test_scores_far_beyond_exp_are_no_trouble():
    weights = attention_weights(Q * 1e4, K * 1e4)
    assert bool(torch.isfinite(weights).all())
    assert torch.equal(weights.argmax(dim=-1), (Q @ K.mT).argmax(dim=-1))


@pytest.mark.parametrize(
    ("given_as", "comes_out"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_never_narrower_than_float32(given_as, comes_out):
    weights = attention_weights(Q.to(given_as), K.to(given_as))
    assert weights.dtype == comes_out
    exact = attention_weights(Q.to(given_as).double(), K.to(given_as).double())
    assert float((weights - exact).abs().max()) <= 1e-6  # the inputs are rounded, nothing else


def test_heads_are_split_and_merged_in_order():
    x = torch.arange(24.0).reshape(1, 2, 12)
    heads = split_heads(x, 3)
    assert heads.shape == (1, 3, 2, 4)
    assert heads[0, 1, 0].tolist() == [4, 5, 6, 7]
    assert torch.equal(merge_heads(heads), x)


def test_signs_are_fixed_and_tell_columns_apart():
    first, again = signs(32, Q), signs(32, Q)
    assert torch.equal(first, again) and set(first.flatten().tolist()) == {-1.0, 1.0}
    assert first.abs().sum() == first.numel() and not torch.equal(first[:, 0], first[:, 1])


@pytest.mark.parametrize("heads_first", [True, False])
def test_each_row_of_each_head_is_signed_in_its_place(heads_first):
    shape = (2, 3, 5, 4) if heads_first else (2, 5, 3, 4)
    mixed = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    mixed = mixed if heads_first else mixed.transpose(1, 2)
    wanted = mixed.double().numpy() @ signs(4, mixed).double().numpy()
    assert sign_off(mixed).shape == (2, 3, 5, 2)
    assert np.abs(sign_off(mixed).numpy() - wanted).max() <= 1e-5
    assert sign_off(mixed[:, :, :0]).shape == (2, 3, 0, 2)
