"""A plain tensor: one number a place, all of them there; other kinds are refused at the door."""

import torch
from torch import Tensor

from viz_encoder.errors import InputError

UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)  # torch supports few operations on these


def plain_tensor(tensor: Tensor, name: str) -> Tensor:
    """The tensor itself, whole numbers without a sign as int64.

    Args:
        tensor: what somebody gave.
        name: what it is, at the start of a sentence.

    Raises:
        InputError: a nested, sparse, quantized or meta tensor.
    """
    if tensor.is_nested:
        raise InputError(f"{name} is a nested tensor; give a list of its rows: x.unbind().")
    if tensor.layout is not torch.strided:
        kind = str(tensor.layout).removeprefix("torch.")
        raise InputError(f"{name} is a sparse tensor ({kind}); give a dense one: x.to_dense().")
    if tensor.is_meta:
        raise InputError(
            f"{name} is on the meta device, where a tensor holds no numbers; give one on the CPU "
            "or a GPU."
        )
    if tensor.is_quantized:
        raise InputError(f"{name} is quantized; give plain numbers: x.dequantize().")
    return tensor.long() if tensor.dtype in UNSIGNED else tensor
