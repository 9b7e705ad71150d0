"""One token's norm: the mean and deviation it removes, its weights, and the result."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.analyses.step.ran import numbers, numbers_or_none
from viz_encoder.shown import OneLine


@dataclass(frozen=True, eq=False, repr=False)
class NormStep(OneLine):
    """after = weight · (before − mean) / √(std² + eps) + bias.

    kind: "LayerNorm" (Ba et al., 2016, arXiv:1607.06450), or "RMSNorm" (Zhang & Sennrich, 2019,
    arXiv:1910.07467), which takes no mean off: mean is None, and std is √(mean(before²)).
    """

    kind: str
    mean: float | None
    std: float
    eps: float
    weight: Float[np.ndarray, " d_model"] | None
    bias: Float[np.ndarray, " d_model"] | None
    before: Float[np.ndarray, " d_model"]
    after: Float[np.ndarray, " d_model"]


def norm_step(
    norm: nn.Module, before: Float[Tensor, " d_model"]
) -> tuple[Float[Tensor, " d_model"], NormStep | None]:
    """The model's own norm and its numbers; None if there is no norm."""
    if isinstance(norm, nn.Identity):
        return before, None
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    after, wide = norm(before), before.double()
    layer = isinstance(norm, nn.LayerNorm)
    mean = wide.mean() if layer else torch.zeros_like(wide[0])
    bias = norm.bias if isinstance(norm, nn.LayerNorm) else None
    return after, NormStep(
        "LayerNorm" if layer else "RMSNorm",
        float(mean) if layer else None,
        float((wide - mean).square().mean().sqrt()),
        float(norm.eps or torch.finfo(before.dtype).eps),
        numbers_or_none(norm.weight),
        numbers_or_none(bias),
        numbers(before),
        numbers(after),
    )
