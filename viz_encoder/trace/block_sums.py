"""Block sums: all that the survey and the proof need of a block of rows, in a few products."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.trace.kept_tokens import KeptTokens

MOST_CELLS = 16  # of a block's rows: each is one more row in the product that adds up over queries


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows, the same for all heads: whole thumbnail cells, or a part of one.

    For the distance, queries are counted from the block's middle c: |i − j| = (i − c) + (c − j)
    for a key j before the block, its negative after it, and only the block's own keys, which lie
    among its queries, are looked at pair by pair. None for cross-attention.
    """

    rows: slice
    cells: slice  # the rows of thumbnail cells they belong to
    by_query: Float[Tensor, "sum query"]  # each cell; the real queries; and their shares of words
    counts: Float[Tensor, " query"]  # 1 for a real query
    place: Float[Tensor, " query"]  # i − c
    apart: Float[Tensor, "query own"] | None  # |i − j| of the block's own keys
    away: Float[Tensor, "2 key"] | None  # |c − j| and its sign, 0 for the block's own keys


class BlockSums(NamedTuple):
    """Of the rows of a block, by head."""

    tops: Float[Tensor, "head query cell"]  # largest weight in each cell of keys
    checked: Float[Tensor, "head checked query"]  # products with the columns; the last, the sum
    entropy: Float[Tensor, "head query"]  # −Σ w ln w
    by_key: Float[Tensor, "head sum key"]  # of `by_query`, in its order
    distance: Float[Tensor, " head"]  # over the real queries, of shares where those are asked for


def block_sums(
    weights: Float[Tensor, "head query key"],
    logs: tuple[Float[Tensor, "head query key"], bool],
    columns: Float[Tensor, "head checked key"],
    block: Block,
    key_step: int,
    shares: bool,
) -> BlockSums:
    """The inner loop of a sweep: no pass over the block but these products, sums and maxima.

    With w the weights and s the scores, ln w_ij = s_ij − l_i, and l_i = max_j s_ij − ln max_j w_ij;
    so a row's entropy −Σ_j w_ij ln w_ij = l_i Σ_j w_ij − Σ_j w_ij s_ij needs no logarithm of its
    weights. Sums along keys (row sums, the proof's W·V·signs) are one product from the right, sums
    along queries (thumbnails, means of keys, Σ_i f_i w_ij and Σ_i f_i (i − c) w_ij) one from the
    left; f_i is 1 for a real query, over the row's sum where weights are read as shares of it.

    Args:
        weights: softmax of the scores, or maps as they were kept.
        logs: s and True, or ln w and False; overwritten by w times it.
        columns: what each row is multiplied by, ones last.
        block: which rows they are.
        key_step: keys a cell.
        shares: whether the distance is of weights divided by their row's sum.
    """
    tops = cell_tops(weights, key_step)
    checked = torch.bmm(columns, weights.mT)
    sums, largest = checked[:, -1], tops.amax(dim=-1)
    values, are_scores = logs
    if are_scores:
        offset = (values.amax(dim=-1) - largest.log()) * sums
        entropy = (offset - values.mul_(weights).sum(dim=-1)).masked_fill_(largest == 0, 0.0)
    else:
        entropy = -values.mul_(weights).sum(dim=-1)
    smallest = torch.finfo(torch.float32).tiny
    counts = block.counts / sums.clamp_min(smallest) if shares else block.counts.expand_as(sums)
    by_query = block.by_query.expand(len(weights), -1, -1)
    both = torch.stack([counts, counts * block.place], dim=1)
    by_key = torch.bmm(torch.cat([by_query, both], dim=1), weights)
    distance = torch.zeros_like(largest[:, 0])
    if block.apart is not None and block.away is not None:
        own = (weights[:, :, block.rows] * block.apart).sum(dim=-1)
        distance = (own * counts).sum(dim=-1) + (by_key[:, -2:] * block.away).sum(dim=(1, 2))
    return BlockSums(tops, checked, entropy, by_key[:, :-2], distance)


def cell_tops(
    weights: Float[Tensor, "head query key"], step: int
) -> Float[Tensor, "head query cell"]:
    """The largest weight of each `step` keys; the last cell may hold fewer."""
    whole = weights.shape[-1] // step
    tops = [weights[..., : whole * step].unflatten(-1, (whole, step)).amax(dim=-1)] if whole else []
    rest = weights[..., whole * step :]
    if rest.shape[-1]:
        tops.append(rest.amax(dim=-1, keepdim=True))
    return tops[0] if len(tops) == 1 else torch.cat(tops, dim=-1)


def blocks_of(
    kept: KeptTokens, step: int, fits: int, dtype: torch.dtype, *, cross: bool
) -> Iterator[Block]:
    """All rows in order; a block is whole cells of `step` rows each, or lies within one cell."""
    n, start = len(kept.real), 0
    places, real, shares = kept.positions.to(dtype), kept.real.to(dtype), kept.shares_of_mean()
    by_token = torch.stack([real] if shares is None else [real, shares.to(dtype)])
    while start < n:
        whole = min(fits, n - start, MOST_CELLS * step) // step * step
        in_cell = step - start % step
        stop = min(start + (whole if whole and in_cell == step else min(fits, in_cell)), n)
        rows, cells = slice(start, stop), slice(start // step, (stop - 1) // step + 1)
        cell_of = torch.arange(start, stop, device=real.device) // step - cells.start
        every = torch.arange(cells.stop - cells.start, device=real.device)[:, None]
        by_query = torch.cat([(cell_of == every).to(dtype), by_token[:, rows]])
        from_middle = places - (places[start] + places[stop - 1]) / 2
        apart = away = None
        if not cross:
            apart = (places[rows, None] - places[rows]).abs()
            away = torch.stack([from_middle.abs(), -from_middle.sign()])
            away[:, rows] = 0
        yield Block(rows, cells, by_query, real[rows], from_middle[rows], apart, away)
        start = stop
