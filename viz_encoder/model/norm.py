"""The norm of a block: LayerNorm or RMSNorm, as the config says."""

from torch import nn

from viz_encoder.config import EncoderConfig, Norm


def make_norm(config: EncoderConfig, width: int | None = None) -> nn.Module:
    """LayerNorm (Ba et al., 2016, arXiv:1607.06450) or RMSNorm (2019, arXiv:1910.07467)."""
    width = width or config.d_model
    if config.norm is Norm.RMS:
        return nn.RMSNorm(width, eps=config.norm_eps)
    return nn.LayerNorm(width, eps=config.norm_eps, bias=config.has_bias("norm"))
