"""Block sums: everything the survey and the proof need from a block of rows, in a few products."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.trace.row_measures import row_entropy
from viz_encoder.trace.token_selection import KeptTokens

SMALLEST = torch.finfo(torch.float32).tiny  # a row with a smaller sum is all zeros
MOST_CELLS = 16  # per block of rows: its own keys are handled pair by pair
FEWEST_ROWS = 32  # per product over queries: below this, call overhead dominates


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Rows of all heads that make up whole thumbnail cells, or part of one.

    For the distance, queries are counted from the block's middle c: |i − j| = (i − c) + (c − j) for
    a key j before the block, and its negative after it; only the block's own keys, which lie among
    its queries, are handled pair by pair. None for cross-attention.
    """

    rows: slice
    cells: slice  # the thumbnail rows they belong to
    parts: Float[Tensor, "cell part"]  # 1 where a query is in a cell: the same in each equal part
    tokens: (
        Float[Tensor, "#head sum query"] | None
    )  # real ones, or shares of words; None: all real, no words
    counts: Float[Tensor, "#head query"]  # 1 for a real query
    place: Float[Tensor, " query"]  # i − c
    apart: Float[Tensor, "query own"] | None  # |i − j| of the block's own keys
    away: Float[Tensor, "2 key"] | None  # |c − j| and its sign; 0 for the block's own keys

    def of(self, heads: slice) -> "RowBlock":
        """Select some of the heads."""
        if len(self.counts) == 1:
            return self
        tokens = None if self.tokens is None else self.tokens[heads]
        return replace(self, tokens=tokens, counts=self.counts[heads])


class BlockSums(NamedTuple):
    """Sums over the rows of a block, by head."""

    tops: Float[Tensor, "head query col"]  # largest weight in each cell of keys
    in_cells: Float[Tensor, "head cell key"]  # sums over each cell's queries
    checked: Float[Tensor, "head checked query"]  # products with the columns; the last, the sum
    entropy: Float[Tensor, "head query"]  # −Σ w ln w
    by_key: Float[Tensor, "head sum key"]  # in the order of `tokens`
    distance: Float[Tensor, " head"]  # over the real queries, of shares where requested


def per_sum(x: Float[Tensor, "*any"], sums: Float[Tensor, "*sums"]) -> Float[Tensor, "*any"]:
    """Divide per-row values by the row sums; 0 for rows whose sum is rounding dust."""
    return (x / sums.clamp_min(SMALLEST)).masked_fill_(sums < SMALLEST, 0.0)


def block_sums(
    weights: Float[Tensor, "head query key"],
    logs: tuple[Float[Tensor, "head query key"], bool],
    columns: Float[Tensor, "head checked key"],
    block: RowBlock,
    key_step: int,
    shares: bool,
) -> BlockSums:
    """The inner loop of a sweep; these products, sums and maxima are its only passes over the
    block.

    Row sums and the proof's W·V·signs share one product from the right; all sums over queries share
    one from the left, a few cells at a time.

    Args:
        weights: softmax of the scores, or the kept maps.
        logs: the scores and True, or the weights' logarithms and False; overwritten.
        columns: factors each row is multiplied by; the last column is ones.
        block: the rows they belong to.
        key_step: keys per cell.
        shares: whether to divide weights by their row's sum for the distance.
    """
    tops = cell_tops(weights, key_step)
    checked = torch.bmm(columns, weights.mT)
    sums, largest = checked[:, -1], tops.amax(dim=-1)
    values, are_scores = logs
    if are_scores:
        entropy = row_entropy(weights, values, sums, largest)
    else:
        entropy = -values.mul_(weights).sum(dim=-1)
    counts = block.counts.expand_as(sums)
    if shares:
        counts = per_sum(counts, sums)
    in_cells, by_key, distance = _over_queries(weights, counts, block, shares)
    return BlockSums(tops, in_cells, checked, entropy, by_key, distance)


def _over_queries(
    weights: Float[Tensor, "head query key"],
    counts: Float[Tensor, "head query"],
    block: RowBlock,
    shares: bool,
) -> tuple[Float[Tensor, "head cell key"], Float[Tensor, "head sum key"], Float[Tensor, " head"]]:
    """Sums of each key over each cell and over `tokens`, and the distance.

    With f_i from `counts`, the distance needs Σ_i f_i w_ij and Σ_i f_i (i − c) w_ij. Where every
    query is real, the cell sums already give the first, and the sums over `tokens`.
    """
    n_heads, n_tokens = len(weights), 0 if block.tokens is None else block.tokens.shape[1]
    factors = [] if block.tokens is None else [*block.tokens.expand(n_heads, -1, -1).unbind(1)]
    if block.apart is not None:
        factors += [counts] if shares else []
        factors.append(counts * block.place)
    in_cells, found = _products(weights, factors, block.parts)
    by_key = found[:, :n_tokens] if n_tokens else in_cells.sum(dim=1, keepdim=True)
    if block.apart is None or block.away is None:
        return in_cells, by_key, counts.new_zeros(n_heads)
    amounts, moments = found[:, -2] if shares else by_key[:, 0], found[:, -1]
    own = (weights[:, :, block.rows] * block.apart).sum(dim=-1)
    others = amounts @ block.away[0] + moments @ block.away[1]
    return in_cells, by_key, (own * counts).sum(dim=-1) + others


def _products(
    weights: Float[Tensor, "head query key"],
    factors: list[Float[Tensor, "head query"]],
    parts: Float[Tensor, "cell part"],
) -> tuple[Float[Tensor, "head cells key"], Float[Tensor, "head factor key"]]:
    """Sums over each cell's queries, and over all of them times each factor."""
    n_heads, (n_cells, size) = len(weights), parts.shape
    left = parts.expand(n_heads, weights.shape[1] // size, -1, -1)
    if factors:
        by_part = torch.stack(factors, dim=1).unflatten(2, (-1, size)).transpose(1, 2)
        left = torch.cat([left, by_part], dim=2)
    apart = weights.unflatten(1, (-1, size)).flatten(0, 1)
    found = torch.bmm(left.flatten(0, 1), apart).unflatten(0, (n_heads, -1))
    return found[:, :, :n_cells].flatten(1, 2), found[:, :, n_cells:].sum(dim=1)


def cell_tops(
    weights: Float[Tensor, "head query key"], step: int
) -> Float[Tensor, "head query col"]:
    """Largest weight of every `step` keys; the last cell may hold fewer."""
    whole = weights.shape[-1] // step
    tops = [weights[..., : whole * step].unflatten(-1, (whole, step)).amax(dim=-1)] if whole else []
    rest = weights[..., whole * step :]
    if rest.shape[-1]:
        tops.append(rest.amax(dim=-1, keepdim=True))
    return tops[0] if len(tops) == 1 else torch.cat(tops, dim=-1)


def blocks_of(
    kept: KeptTokens, step: int, fits: int, dtype: torch.dtype, *, cross: bool
) -> Iterator[RowBlock]:
    """Iterate over all rows; a block is whole cells of `step` rows, or lies within one cell."""
    n, start = len(kept.positions), 0
    places, real, shares = kept.positions.to(dtype), kept.real.to(dtype), kept.shares_of_mean()
    tokens = torch.stack([real] if shares is None else [real, shares.to(dtype)], dim=1)
    all_alike = shares is None and bool(real.all())
    while start < n:
        whole = min(fits, n - start, MOST_CELLS * step) // step * step
        in_cell = step - start % step
        stop = min(start + (whole if whole and in_cell == step else min(fits, in_cell)), n)
        rows, cells = slice(start, stop), slice(start // step, (stop - 1) // step + 1)
        from_middle = places - (places[start] + places[stop - 1]) / 2
        apart = away = None
        if not cross:
            apart = (places[rows, None] - places[rows]).abs()
            away = torch.stack([from_middle.abs(), -from_middle.sign()])
            away[:, rows] = 0
        parts = _parts(stop - start, cells.stop - cells.start).to(real)
        own = None if all_alike else tokens[:, :, rows]
        yield RowBlock(rows, cells, parts, own, real[:, rows], from_middle[rows], apart, away)
        start = stop


def _parts(n_rows: int, n_cells: int) -> Float[Tensor, "cell part"]:
    """Assign a part's queries to cells: as few whole cells as have FEWEST_ROWS, or all."""
    step = n_rows // n_cells
    fewest = -(-FEWEST_ROWS // step)
    n_together = fewest if n_cells % fewest == 0 else n_cells
    return torch.eye(n_together).repeat_interleave(step, dim=1)
