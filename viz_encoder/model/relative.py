"""Relative positions: a learned number by distance, added to the scores of every head."""

import math

import torch
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
