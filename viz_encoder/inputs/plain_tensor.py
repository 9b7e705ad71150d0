"""A plain tensor: one number a place, all of them there; other kinds are refused at the door."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from viz_encoder.errors import InputError

UNKNOWN_SCALE = (
    "How these pixels were normalized is not known here, so the picture is shown from their "
    "smallest value (black) to their largest (white)."
)


def picture_of(
    pixels: Float[Tensor, "channel height width"],
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
) -> UInt8[np.ndarray, "height width 3"]:
    """The picture that they are of, in colors where there are three channels.

    Args:
        pixels: what the encoder takes.
        mean: of each channel, as it was subtracted; without it, see UNKNOWN_SCALE.
        std: of each channel, by which it was divided.
    """
    shown = pixels.float().cpu()
    if mean:
        middle, spread = (torch.tensor(each)[:, None, None] for each in (mean, std))
        shown = shown * spread + middle
    else:
        low, high = shown.amin(), shown.amax()
        shown = (shown - low) / (high - low).clamp_min(torch.finfo(torch.float32).tiny)
    if len(shown) != 3:
        shown = shown.mean(dim=0, keepdim=True).expand(3, -1, -1)
    return (shown.clamp(0, 1) * 255).round().byte().permute(1, 2, 0).contiguous().numpy()


UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)  # torch supports few operations on these


def plain_tensor(tensor: Tensor, name: str) -> Tensor:
    """The tensor itself, whole numbers without a sign as int64."""
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
