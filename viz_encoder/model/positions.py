"""How positions enter: tables added to the input, rotated queries and keys, numbers by distance."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


def by_distance(
    table: Float[Tensor, "bucket head"], n_tokens: int, furthest: int
) -> Float[Tensor, "head distance"]:
    """Each head's number for key − query = −(n_tokens − 1) … n_tokens − 1 (T5, arXiv:1910.10683).

    2 · n_tokens − 1 numbers say all that a query × key matrix would.
    """
    away = torch.arange(1 - n_tokens, n_tokens, device=table.device)
    return table[bucket(away, len(table), furthest)].T


def bucket(
    away: Int[Tensor, " distance"], n_buckets: int, furthest: int
) -> Int[Tensor, " distance"]:
    """Half of the buckets for each direction: near distances one each, far ones by logarithm."""
    half = n_buckets // 2
    near = half // 2
    distance = away.abs()
    steps = torch.log(distance.clamp_min(1).float() / near) / math.log(furthest / near)
    far = (near + (steps * (half - near)).long()).clamp_max(half - 1)
    return torch.where(distance < near, distance, far) + half * (away > 0)


def spread(
    relative: Float[Tensor, "head distance"], queries: Int[Tensor, " query"]
) -> Float[Tensor, "head query key"]:
    """The rows of some queries as they are added to the scores."""
    n_tokens = (relative.shape[1] + 1) // 2
    keys = torch.arange(n_tokens, device=relative.device)
    return relative[:, keys - queries[:, None] + n_tokens - 1]


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
