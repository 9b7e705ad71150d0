"""Pixels as a picture again: what a person sees of a tensor that came ready made."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

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
    found: UInt8[np.ndarray, "height width 3"] = (
        (shown.clamp(0, 1) * 255).round().byte().permute(1, 2, 0).contiguous().numpy()
    )
    return found
