"""PredictionHead: what a model says about its last hidden states: tokens, labels, one vector."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from viz_encoder.config import EncoderConfig, HeadConfig, HeadPool
from viz_encoder.model.activations import ACTIVATIONS
from viz_encoder.model.probe import Probe


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
        """Scores (logits) "batch token out", or "batch out" where the input has one answer.

        Args:
            hidden: what the encoder put out, after the final norm.
            valid: True = a real token; all real if not given.
        """
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
