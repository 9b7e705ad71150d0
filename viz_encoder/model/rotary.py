"""Rotary positions: queries and keys turned by an angle that grows with where the token stands."""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def rotate(
    x: Float[Tensor, "batch head token d_head"], angles: Float[Tensor, "token half"]
) -> Float[Tensor, "batch head token d_head"]:
    """Turn each pair (i, i + d_head / 2) by its angle (Su et al., 2021, arXiv:2104.09864).

    The product of a turned query and a turned key depends on their distance alone.
    """
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def angles_along(
    n_tokens: int, d_head: int, base: float, device: torch.device | None = None
) -> Float[Tensor, "token half"]:
    """position / base^(2i / d_head), for each token of a text and each pair i."""
    pairs = torch.arange(0, d_head, 2, device=device).float()
    rates = 1.0 / base ** (pairs / d_head)
    return torch.arange(n_tokens, device=device).float()[:, None] * rates


def angles_of_grid(
    n_rows: int,
    n_cols: int,
    n_prefix: int,
    d_head: int,
    base: float,
    device: torch.device | None = None,
) -> Float[Tensor, "token half"]:
    """Half of the pairs turn by the row, half by the column, both from −1 to 1 over the picture.

    As DINOv3 has it (Siméoni et al., 2025, arXiv:2508.10104); prefix tokens are not turned.
    """
    periods = base ** (4 * torch.arange(d_head // 4, device=device).float() / d_head)
    row, col = (
        2 * (torch.arange(n, device=device).float() + 0.5) / n - 1 for n in (n_rows, n_cols)
    )
    places = torch.stack(torch.meshgrid(row, col, indexing="ij"), dim=-1).flatten(0, 1)
    turns = 2 * math.pi * places[:, :, None] / periods
    still = turns.new_zeros(n_prefix, d_head // 2)
    return torch.cat([still, turns.flatten(1)])
