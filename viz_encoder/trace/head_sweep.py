"""Head sweep: one pass over a layer's rows for thumbnails, statistics, key means and the proof."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.trace.block_sums import (
    SMALLEST,
    BlockSums,
    RowBlock,
    block_sums,
    blocks_of,
    per_sum,
)
from viz_encoder.trace.head_rows import rows_at_once
from viz_encoder.trace.head_statistics import STATISTICS, of_query, values_of
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.proof import check_columns, weigh
from viz_encoder.trace.query_sums import HeadBlock, QuerySums
from viz_encoder.trace.row_walk import RowWalk, walks
from viz_encoder.trace.token_selection import KeptTokens

OFFSETS = (-1, 0, 1)


class HeadSweep:
    """Running results for one layer's heads, over the blocks added so far."""

    def __init__(
        self,
        layer: LayerTrace,
        kept: KeptTokens,
        special: Bool[Tensor, "#head token"],
        size: int,
        renormalize: bool,
    ) -> None:
        n, n_heads = len(kept.positions), layer.n_heads
        n_keys = layer.k.shape[1] if kept.keys is None else len(kept.keys)
        self.layer, self.kept, self.sides = layer, kept, (n, n_keys)
        self.renormalize, self.hides = renormalize, kept.queries is not None
        self.shares = layer.sink is not None or self.hides  # otherwise rows already sum to 1
        self.as_it_ran = not (renormalize or self.hides)
        self.special = special
        self.row_step, self.key_step = -(-n // size), -(-n_keys // size)
        self.columns = layer.v.new_ones(n_heads, 1, n_keys, dtype=layer.wide)
        if self.as_it_ran:
            self.columns = check_columns(layer)
        zeros = self.columns.new_zeros
        shape = (n_heads, -(-n // self.row_step), -(-n_keys // self.key_step))
        self.tops, self.sums = zeros(shape), zeros(shape)  # weights are never negative
        self.checked = zeros(n_heads, self.columns.shape[1], n)
        self.of_query = of_query(STATISTICS)
        self.by_query = {name: zeros(n_heads, n) for name in self.of_query}
        self.bands = zeros(n_heads, len(OFFSETS), n)
        self.distance, self.totals = zeros(n_heads), zeros(n_heads, n_keys)
        self.word_totals = zeros(n_heads, n_keys)

    def run(self, budget: int) -> None:
        """Sweep all rows of all heads, within `budget` bytes of weights at a time."""
        fits = rows_at_once(self.layer.k.shape[1], budget)
        plan = blocks_of(self.kept, self.row_step, fits, self.layer.wide, cross=self.layer.cross)
        blocks = list(plan)
        most = max(block.rows.stop - block.rows.start for block in blocks)
        for walk in walks(self.layer, most, budget):
            for block in blocks:
                self.add(walk, block)
        if self.as_it_ran:
            weigh(self.layer, self.checked)

    def add(self, walk: RowWalk, block: RowBlock) -> None:
        """Add some heads' rows of one block."""
        weights, logs = self._weights(walk, block.rows)
        columns = self.columns[walk.heads]
        found = block_sums(weights, logs, columns, block.of(walk.heads), self.key_step, self.shares)
        self._keep(found, walk.heads, block)
        self._keep_queries(found, walk.heads, block.rows, weights)

    def _weights(
        self, walk: RowWalk, rows: slice
    ) -> tuple[Float[Tensor, "head query key"], tuple[Float[Tensor, "head query key"], bool]]:
        """Rows of the map as shown, and their scores or logarithms."""
        queries = rows if self.kept.queries is None else self.kept.queries[rows]
        weights = walk.weights(queries)
        if self.as_it_ran and walk.scores is not None:
            if self.layer.mask is not None or self.layer.bias is not None:
                walk.scores.clamp_min_(torch.finfo(weights.dtype).min)  # −∞ times 0 is NaN
            return weights, (walk.scores, True)
        if self.kept.keys is not None:
            weights = weights[:, :, self.kept.keys]
        if self.renormalize:
            weights = per_sum(weights, weights.sum(dim=-1, keepdim=True))
        return weights, (weights.clamp_min(SMALLEST).log_(), False)

    def _keep(self, found: BlockSums, heads: slice, block: RowBlock) -> None:
        rows, cells, n_cells = block.rows, block.cells, found.in_cells.shape[1]
        tops = found.tops.unflatten(1, (n_cells, -1)).amax(dim=2)
        self.tops[heads, cells] = self.tops[heads, cells].maximum(tops)
        in_cells = F.pad(found.in_cells, (0, -found.in_cells.shape[2] % self.key_step))
        self.sums[heads, cells] += in_cells.unflatten(2, (-1, self.key_step)).sum(dim=-1)
        self.totals[heads] += found.by_key[:, 0]
        self.word_totals[heads] += found.by_key[:, -1]
        self.checked[heads, :, rows] = found.checked
        self.distance[heads] += found.distance

    def _keep_queries(
        self, found: BlockSums, heads: slice, rows: slice, weights: Float[Tensor, "head query key"]
    ) -> None:
        """What statistics need of each query."""
        entropy, sums = found.entropy, found.checked[:, -1]
        if self.shares:  # of w / z: (−Σ w ln w) / z + ln z
            entropy = per_sum(entropy + sums * sums.clamp_min(SMALLEST).log(), sums)
        block_of = HeadBlock(weights, entropy, found.tops.amax(dim=-1))
        for name, value in self.of_query.items():
            self.by_query[name][heads, rows] = value(block_of)
        if self.layer.cross:
            return
        for at, shift in enumerate(OFFSETS):
            band = weights.diagonal(rows.start + shift, dim1=1, dim2=2)
            first = rows.start + max(0, -shift - rows.start)
            self.bands[heads, at, first : first + band.shape[1]] = band

    def thumbnails(self) -> tuple[Float[Tensor, "head row col"], Float[Tensor, "head row col"]]:
        """Largest and mean weight of each cell, NaN where no pair may attend."""
        n, n_keys = self.sides
        pairs = _sides(n, self.row_step)[:, None] * _sides(n_keys, self.key_step)
        tops, means = self.tops.float(), (self.sums / pairs.to(self.sums)).float()
        forbidden = self._forbidden()
        if forbidden is not None:
            tops[forbidden] = means[forbidden] = torch.nan
        return tops, means

    def key_means(self) -> Float[Tensor, "head key"]:
        """Means over the real queries; for words, over words of their sums."""
        counts, owners = self.kept.shares_of_mean(), self.kept.owners
        counts = self.kept.real if counts is None else counts
        means = self.word_totals / counts.sum(dim=1, keepdim=True)
        if owners is not None and not self.layer.cross:
            words = means.new_zeros(len(means), int(owners[-1]) + 1)
            means = words.index_add_(1, owners, means)
        return means.float()

    def statistics(self) -> Float[Tensor, "statistic head"]:
        """In the order of STATISTICS; NaN where undefined."""
        first = torch.zeros_like(self.totals[:1], dtype=torch.bool)
        first[:, 0] = True
        special = {"special": self.special}
        real = self.kept.real.to(self.totals)
        sums = QuerySums(
            real,
            self.totals[:, None],
            {"first": first} | ({} if self.layer.cross or self.hides else special),
            by_query=self.by_query,
        )
        if not self.layer.cross:
            # Neighbors are by key; a query's key is so many places after it.
            counts = [self.kept.neighbors(at).roll(-at, dims=1).to(real) * real for at in OFFSETS]
            pairs = torch.stack(counts, dim=1)
            bands, n_pairs = (self.bands * pairs).sum(dim=2), pairs.sum(dim=2)
            sums = replace(sums, bands=bands, n_pairs=n_pairs, distance=self.distance)
        return values_of(STATISTICS, sums).float()

    def _forbidden(self) -> Bool[Tensor, "head row col"] | None:
        mask = self.layer.mask
        if mask is None:
            return None
        for axis, tokens in ((1, self.kept.queries), (2, self.kept.keys)):
            if tokens is not None and mask.shape[axis] > 1:
                mask = mask.index_select(axis, tokens)
        for axis, step in ((1, self.row_step), (2, self.key_step)):
            if mask.shape[axis] > 1:
                missing = -mask.shape[axis] % step
                padded = F.pad(mask.movedim(axis, -1), (0, missing))
                mask = padded.unflatten(-1, (-1, step)).any(dim=-1).movedim(-1, axis)
        return ~mask.expand(self.tops.shape)


def _sides(n: int, step: int) -> Float[Tensor, " cell"]:
    edges = torch.arange(0, n + step, step).clamp_max(n)
    return edges.diff().float()
