"""One encoder block: attention and feed-forward network, each inside a residual sum."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.config import Activation, EncoderConfig, Norm, NormPlacement
from viz_encoder.model.attention import NOTHING, Given, LayerRecord, SelfAttention


def make_norm(config: EncoderConfig, width: int | None = None) -> nn.Module:
    """LayerNorm (Ba et al., 2016, arXiv:1607.06450) or RMSNorm (2019, arXiv:1910.07467)."""
    width = width or config.d_model
    if config.norm is Norm.RMS:
        return nn.RMSNorm(width, eps=config.norm_eps)
    return nn.LayerNorm(width, eps=config.norm_eps, bias=config.has_bias("norm"))


def quick_gelu(x: Tensor) -> Tensor:
    """x · sigmoid(1.702 x), near to GELU (Hendrycks & Gimpel, 2016, arXiv:1606.08415)."""
    return x * torch.sigmoid(1.702 * x)


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by its tanh approximation (Hendrycks & Gimpel, 2016, arXiv:1606.08415)."""
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    Activation.RELU: F.relu,
    Activation.GELU: F.gelu,
    Activation.GELU_TANH: gelu_tanh,
    Activation.QUICK_GELU: quick_gelu,
    Activation.SILU: F.silu,
    Activation.TANH: torch.tanh,
}


class FeedForward(nn.Module):
    """Widen to d_ff, apply the activation, narrow back to d_model."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.d_model, config.d_ff, bias=config.has_bias("up"))
        self.gate: nn.Linear | None = None
        if config.gated:
            self.gate = nn.Linear(config.d_model, config.d_ff, bias=config.has_bias("gate"))
        self.down = nn.Linear(config.d_ff, config.d_model, bias=config.has_bias("down"))
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "batch token d_model"]
    ) -> Float[Tensor, "batch token d_model"]:
        """Transform each token by itself; gated: act(gate(x)) · up(x) (arXiv:2002.05202)."""
        if self.gate is None:
            return self.down(self.dropout(self.activation(self.up(x))))
        return self.down(self.dropout(self.activation(self.gate(x)) * self.up(x)))


class Block(nn.Module):
    """Attention, then feed-forward; pre-norm: x + f(norm(x)); post-norm: norm(x + f(x))."""

    def __init__(self, config: EncoderConfig, number: int = 0) -> None:
        super().__init__()
        self.pre_norm = config.norm_placement is NormPlacement.PRE
        self.attn = SelfAttention(config)
        bare = self.pre_norm and number == 0 and not config.first_attn_norm
        self.attn_norm = nn.Identity() if bare else make_norm(config)
        self.ff = FeedForward(config)
        self.ff_norm = make_norm(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch token d_model"],
        given: Given = NOTHING,
        records: list[LayerRecord] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Run the block; the attention layer adds its record to records if given."""
        attended = self.attn(self.before_attention(x), given, records)
        return self.after_attention(x if given.queries is None else x[:, given.queries], attended)

    def before_attention(
        self, x: Float[Tensor, "batch token d_model"]
    ) -> Float[Tensor, "batch token d_model"]:
        """What attention reads of what enters the block."""
        normed: Tensor = self.attn_norm(x) if self.pre_norm else x
        return normed

    def after_attention(
        self,
        x: Float[Tensor, "batch token d_model"],
        attended: Float[Tensor, "batch token d_model"],
    ) -> Float[Tensor, "batch token d_model"]:
        """The rest of the block, from what entered it and what attention gave."""
        if self.pre_norm:
            x = x + self.dropout(attended)
            return x + self.dropout(self.ff(self.ff_norm(x)))
        x = self.attn_norm(x + self.dropout(attended))
        return self.ff_norm(x + self.dropout(self.ff(x)))
