"""Rows whose shown weights sum to almost nothing: no number of them is made up."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz

TINY = np.finfo(np.float32).tiny
N_TOKENS = 7


class Attends(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)


class Sink(nn.Module):
    """A column of its own takes almost everything, as a learned sink may (gpt-oss)."""

    def __init__(self, score):
        super().__init__()
        self.score = score

    def forward(self, q, k, v):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        own = torch.full((*q.shape[:-1], 1), self.score, dtype=q.dtype)
        return torch.softmax(torch.cat([scores, own], dim=-1), dim=-1)[..., :-1] @ v


def entropy_of_shares(weights):
    """Of each row divided by its sum; 0 for a row of zeros, or of less than float32 can hold."""
    sums = weights.sum(axis=-1)
    shares = weights / np.maximum(sums, TINY)[:, None]
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return np.where(sums < TINY, 0.0, -(shares * logs).sum(axis=-1)).mean()


def measured(trace, **view):
    return vz.analyses.survey(trace, **view)[0].statistics["entropy"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("score", [3.0, 40.0, 95.0, 300.0])
def test_a_sink_that_takes_almost_all(score, dtype, rng):
    q, k, v = torch.randn(3, 1, 1, N_TOKENS, 8, generator=rng).to(dtype)
    with vz.record(Sink(score)) as recording:
        recording.module(q, k, v)
    trace = recording.trace()
    weights = trace.layers[0].weights(slice(None), torch.arange(N_TOKENS)).double().numpy()
    np.testing.assert_allclose(measured(trace), entropy_of_shares(weights[0]), rtol=2e-5)


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("score", [5.0, 60.0, 90.0, 400.0])
def test_a_hidden_token_that_takes_almost_all(score, renormalize, rng):
    q, k, v = torch.randn(3, 1, 1, N_TOKENS, 8, generator=rng)
    q = q.abs() + 1
    k[..., 0, :] = score * 8**0.5 / (q.mean() * 8)
    with vz.record(Attends()) as recording:
        recording.module(q, k * torch.tensor([1.0, *[0.1] * 6])[:, None], v)
    trace = recording.trace(tokens=["[CLS]", *"abcdef"])
    weights = trace.layers[0].weights(slice(None), torch.arange(N_TOKENS)).double().numpy()
    found = measured(trace, hide_special=True, renormalize=renormalize)
    np.testing.assert_allclose(found, entropy_of_shares(weights[0, 1:, 1:]), rtol=2e-5, atol=1e-6)
