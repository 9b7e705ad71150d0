"""The nonlinearities, by name."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_encoder.config import Activation


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
