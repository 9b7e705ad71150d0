"""Positions: sinusoidal tables, and learned tables resized to another patch grid."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def sinusoidal(n_positions: int, d_model: int) -> Float[Tensor, "token d_model"]:
    """Sines in the even columns, cosines in the odd ones (Vaswani et al., 2017, arXiv:1706.03762).

    Column pair i turns once every 2π · 10000^(2i / d_model) tokens.
    """
    position = torch.arange(n_positions)[:, None]
    rate = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model))
    table = torch.zeros(n_positions, d_model)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)[:, : d_model // 2]
    return table


def resize_grid(
    table: Float[Tensor, "token d_model"],
    n_prefix: int,
    grid: tuple[int, int],
    new_grid: tuple[int, int],
    antialias: bool = False,
) -> Float[Tensor, "new_token d_model"]:
    """Patch positions for another grid, bicubic as in ViT (Dosovitskiy et al., 2020).

    Prefix tokens stand outside the picture, so their rows are kept as they are.
    """
    if grid == new_grid:
        return table
    prefix, patches = table[:n_prefix], table[n_prefix:]
    picture = patches.reshape(1, *grid, -1).permute(0, 3, 1, 2)  # (1, d_model, row, col)
    resized = F.interpolate(
        picture, size=new_grid, mode="bicubic", align_corners=False, antialias=antialias
    )
    return torch.cat([prefix, resized[0].permute(1, 2, 0).flatten(0, 1)])
