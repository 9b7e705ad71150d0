"""Probe: one learned query looks at all tokens, and what it finds is the input's one vector."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from viz_encoder.config import EncoderConfig
from viz_encoder.model.attention import attention_weights, merge_heads, split_heads
from viz_encoder.model.block import FeedForward
from viz_encoder.model.norm import make_norm


class Probe(nn.Module):
    """Multi-head attention pooling (Lee et al., 2019, arXiv:1810.00825), as SigLIP has it.

    Its number of heads, its feed-forward network and its norm are built by the encoder's axes.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.scale = 1 / math.sqrt(config.d_head) if config.scale is None else config.scale
        d_model, inner = config.d_model, config.n_heads * config.d_head
        self.query = nn.Parameter(torch.zeros(1, 1, d_model))
        self.q = nn.Linear(d_model, inner, bias=config.has_bias("q"))
        self.k = nn.Linear(d_model, inner, bias=config.has_bias("k"))
        self.v = nn.Linear(d_model, inner, bias=config.has_bias("v"))
        self.o = nn.Linear(inner, d_model, bias=config.has_bias("o"))
        self.norm = make_norm(config)
        self.ff = FeedForward(config)

    def weights(
        self,
        hidden: Float[Tensor, "batch token d_model"],
        valid: Bool[Tensor, "batch token"],
    ) -> Float[Tensor, "batch head token"]:
        """Attention of each head of the learned query to each token: 0 at padding, sum 1."""
        q = split_heads(self.q(self.query), self.n_heads).expand(len(hidden), -1, -1, -1)
        k = split_heads(self.k(hidden), self.n_heads)
        return attention_weights(q, k, valid[:, None, None, :], self.scale)[:, :, 0]

    def forward(
        self,
        hidden: Float[Tensor, "batch token d_model"],
        valid: Bool[Tensor, "batch token"],
    ) -> Float[Tensor, "batch d_model"]:
        """x + f(norm(x)), where x is what the query found; by the very weights that are shown."""
        v = split_heads(self.v(hidden), self.n_heads)
        mixed = self.weights(hidden, valid)[:, :, None].to(v.dtype) @ v
        x = self.o(merge_heads(mixed))
        found: Tensor = x + self.ff(self.norm(x))
        return found[:, 0]
