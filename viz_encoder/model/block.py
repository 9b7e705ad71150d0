"""One encoder block: attention and feed-forward network, each inside a residual sum."""

from collections.abc import Callable

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.config import Activation, EncoderConfig, NormPlacement
from viz_encoder.model.attention import LayerRecord, SelfAttention
from viz_encoder.model.masks import Mask

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    Activation.RELU: F.relu,
    Activation.GELU: F.gelu,
    Activation.SILU: F.silu,
}


def make_norm(config: EncoderConfig) -> nn.LayerNorm:
    """Layer normalization over d_model (Ba et al., 2016, arXiv:1607.06450)."""
    return nn.LayerNorm(config.d_model, eps=config.norm_eps, bias=config.bias)


class FeedForward(nn.Module):
    """Widen to d_ff, apply the activation, narrow back to d_model."""

    def __init__(self, config: EncoderConfig) -> None:
        """Two linear maps with the activation between them."""
        super().__init__()
        self.up = nn.Linear(config.d_model, config.d_ff, bias=config.bias)
        self.down = nn.Linear(config.d_ff, config.d_model, bias=config.bias)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "batch token d_model"]
    ) -> Float[Tensor, "batch token d_model"]:
        """Transform each token by itself."""
        return self.down(self.dropout(self.activation(self.up(x))))


class Block(nn.Module):
    """Attention, then feed-forward; pre-norm: x + f(norm(x)); post-norm: norm(x + f(x))."""

    def __init__(self, config: EncoderConfig) -> None:
        """Build both sub-layers, each with its own norm."""
        super().__init__()
        self.pre_norm = config.norm_placement is NormPlacement.PRE
        self.attn = SelfAttention(config)
        self.attn_norm = make_norm(config)
        self.ff = FeedForward(config)
        self.ff_norm = make_norm(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch token d_model"],
        mask: Mask | None = None,
        records: list[LayerRecord] | None = None,
    ) -> Float[Tensor, "batch token d_model"]:
        """Run the block; the attention layer adds its record to records if given."""
        if self.pre_norm:
            x = x + self.dropout(self.attn(self.attn_norm(x), mask, records))
            return x + self.dropout(self.ff(self.ff_norm(x)))
        x = self.attn_norm(x + self.dropout(self.attn(x, mask, records)))
        return self.ff_norm(x + self.dropout(self.ff(x)))
