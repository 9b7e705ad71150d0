"""PredictionHead: what a model says about its last hidden states: tokens, labels, one vector."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from viz_encoder.config import EncoderConfig, HeadConfig, HeadPool
from viz_encoder.model.attention import SelfAttention, attention_weights, split_heads
from viz_encoder.model.block import ACTIVATIONS, FeedForward, make_norm


class Probe(SelfAttention):
    """Multi-head attention pooling (Lee et al., 2019, arXiv:1810.00825), as SigLIP has it.

    Its projections, its feed-forward network and its norm are built by the encoder's axes.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.query = nn.Parameter(torch.zeros(1, 1, config.d_model))
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

    def forward(  # type: ignore[override]
        self,
        hidden: Float[Tensor, "batch token d_model"],
        valid: Bool[Tensor, "batch token"],
    ) -> Float[Tensor, "batch d_model"]:
        """x + f(norm(x)), where x is what the query found; by the very weights that are shown."""
        v = split_heads(self.v(hidden), self.n_heads)
        mixed = self.weights(hidden, valid)[:, :, None].to(v.dtype) @ v
        x = self.out(mixed)
        found: Tensor = x + self.ff(self.norm(x))
        return found[:, 0]


class PredictionHead(nn.Module):
    """Pool, dense layer, activation, norm, out layer: each where the config has it."""

    def __init__(self, config: EncoderConfig, head: HeadConfig) -> None:
        super().__init__()
        self.config, self.n_prefix = head, len(config.prefix)
        width = head.width(config.d_model)
        self.probe = Probe(config) if head.pool is HeadPool.PROBE else None
        self.dense = self.norm = self.out = None
        if head.d_dense:
            self.dense = nn.Linear(width, head.d_dense, bias="dense" not in head.unbiased)
            width = head.d_dense
        if head.norm:
            self.norm = nn.LayerNorm(width, config.norm_eps, bias="norm" not in head.unbiased)
        if head.n_out:
            self.out = nn.Linear(width, head.n_out, bias="out" not in head.unbiased)

    def forward(
        self,
        hidden: Float[Tensor, "batch token d_model"],
        valid: Bool[Tensor, "batch token"] | None = None,
    ) -> Float[Tensor, "batch *token out"]:
        """Scores (logits) "batch token out", or "batch out" where the input has one answer."""
        if valid is None:
            valid = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device)
        x = self._pooled(hidden, valid)
        if self.dense is not None:
            x = self.dense(x)
        if self.config.activation is not None:
            x = ACTIVATIONS[self.config.activation](x)
        if self.norm is not None:
            x = self.norm(x)
        if self.out is not None:
            x = self.out(x)
        return self._mean(x, valid) if self.config.pool is HeadPool.LATE else x

    def _pooled(self, hidden: Tensor, valid: Tensor) -> Tensor:
        match self.config.pool:
            case HeadPool.EACH | HeadPool.LATE:
                return hidden
            case HeadPool.CLS:
                return hidden[:, 0]
            case HeadPool.CLS_DIST:
                return hidden[:, :2].flatten(1)
            case HeadPool.MEAN:
                return self._mean(hidden, valid)
            case HeadPool.CLS_MEAN:
                return torch.cat([hidden[:, 0], self._mean(hidden, valid)], dim=-1)
            case HeadPool.LAST:
                last = valid.shape[1] - 1 - valid.flip(1).int().argmax(dim=1)
                return hidden[torch.arange(len(hidden), device=hidden.device), last]
            case HeadPool.PROBE:
                assert self.probe is not None
                return self.probe(hidden, valid)

    def _mean(self, hidden: Tensor, valid: Tensor) -> Float[Tensor, "batch d_model"]:
        """Mean over the valid tokens without prefix tokens."""
        kept, real = hidden[:, self.n_prefix :], valid[:, self.n_prefix :, None]
        return kept.masked_fill(~real, 0).sum(dim=1) / real.sum(dim=1)
