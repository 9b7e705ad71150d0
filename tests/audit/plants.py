"""Small models to plant faults in: written out here, so that no code under test is trusted."""

import math

import torch
from torch import nn


def padding(valid):
    return valid[:, None, :].expand(-1, valid.shape[1], -1)


def causal(valid):
    return padding(valid) & torch.ones(valid.shape[1], valid.shape[1], dtype=torch.bool).tril()


def banded(width):
    """Causal, and of `width` keys, the token among them."""

    def intent(valid):
        place = torch.arange(valid.shape[1])
        return causal(valid) & (place[:, None] - place[None, :] < width)

    return intent


def own_mask(valid):
    """What is passed to a model that makes its own mask."""
    return valid


class Attention(nn.Module):
    """Two heads, a residual and nothing else; `spoil` may change scores, weights or the output."""

    def __init__(self, d_model=8, n_heads=2):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, keep, bias=None):
        n_samples, n_tokens, d_model = x.shape
        split = (n_samples, n_tokens, self.n_heads, -1)
        q, k, v = (part.view(split).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        scores = scores if bias is None else scores + bias
        if keep is not None:
            keep = keep[:, None] if keep.ndim == 3 else keep
            scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(n_samples, n_tokens, d_model)
        return x + self.out(mixed)


class Stack(nn.Module):
    def __init__(self, n_layers=2, d_model=8, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.layers = nn.ModuleList(Attention(d_model) for _ in range(n_layers))

    def forward(self, x, keep):
        for layer in self.layers:
            x = layer(x, keep)
        return x


class NoMaps(Stack):
    """The same, with a softmax that no recording sees."""

    def forward(self, x, keep):
        for layer in self.layers:
            n_samples, n_tokens, d_model = x.shape
            split = (n_samples, n_tokens, layer.n_heads, -1)
            q, k, v = (part.view(split).transpose(1, 2) for part in layer.qkv(x).chunk(3, -1))
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            scores = scores.masked_fill(~keep[:, None], torch.finfo(scores.dtype).min)
            weights = (scores - scores.amax(dim=-1, keepdim=True)).exp()
            weights = weights / weights.sum(dim=-1, keepdim=True)
            mixed = (weights @ v).transpose(1, 2).reshape(n_samples, n_tokens, d_model)
            x = x + layer.out(mixed)
        return x
