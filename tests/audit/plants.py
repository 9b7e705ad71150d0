"""Small models to plant faults in: written out here, so that no code under test is trusted."""

import math

import torch
from torch import nn


def padding(valid):
    return valid[:, None, :].expand(-1, valid.shape[1], -1)


def causal(valid):
    return padding(valid) & torch.ones(valid.shape[1], valid.shape[1], dtype=torch.bool).tril()


def near(valid):
    place = torch.arange(valid.shape[1])
    return padding(valid) & ((place[:, None] - place).abs() <= 2)


def banded(width):
    """Causal, and of `width` keys, the token among them."""

    def intent(valid):
        place = torch.arange(valid.shape[1])
        return causal(valid) & (place[:, None] - place[None, :] < width)

    return intent


def own_mask(valid):
    """What is passed to a model that makes its own mask."""
    return valid


def plain(q, k, v, keep, bias=None):
    """Masked softmax in the open, which a recording sees."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores if bias is None else scores + bias
    scores = scores if keep is None else scores.masked_fill(~keep, torch.finfo(q.dtype).min)
    return scores.softmax(dim=-1) @ v


def unseen(q, k, v, keep, bias=None, banned=None):
    """The same, with a softmax that no recording sees; `banned` in place of a forbidden score."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    banned = torch.finfo(q.dtype).min if banned is None else banned
    scores = scores.masked_fill(~keep, banned)
    weights = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return weights / weights.sum(dim=-1, keepdim=True) @ v


class Attention(nn.Module):
    """Two heads, a residual and nothing else; `attend` mixes values by q, k and the mask."""

    def __init__(self, d_model=8, n_heads=2, attend=plain):
        super().__init__()
        self.n_heads, self.attend = n_heads, attend
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, keep, bias=None):
        n_samples, n_tokens, d_model = x.shape
        split = (n_samples, n_tokens, self.n_heads, -1)
        q, k, v = (part.view(split).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        if isinstance(keep, torch.Tensor) and keep.ndim == 3:
            keep = keep[:, None]
        mixed = self.attend(q, k, v, keep) if bias is None else self.attend(q, k, v, keep, bias)
        return x + self.out(mixed.transpose(1, 2).reshape(n_samples, n_tokens, d_model))


class Stack(nn.Module):
    def __init__(self, n_layers=2, d_model=8, seed=0, attend=plain, n_heads=2):
        super().__init__()
        torch.manual_seed(seed)
        self.layers = nn.ModuleList(Attention(d_model, n_heads, attend) for _ in range(n_layers))

    def forward(self, x, keep):
        for layer in self.layers:
            x = layer(x, keep)
        return x


class NoMaps(Stack):
    """The same, with a softmax that no recording sees, in layers that are not called as modules."""

    def __init__(self, n_layers=2, seed=0, attend=unseen):
        super().__init__(n_layers, seed=seed, attend=attend)

    def forward(self, x, keep):
        for layer in self.layers:
            x = layer.forward(x, keep)
        return x
