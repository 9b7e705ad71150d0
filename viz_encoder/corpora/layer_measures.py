"""Layer measures: a batch's statistics of one layer's heads, text by text, from its q and k."""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.corpora.statistics import STATISTICS
from viz_encoder.model.attention import LayerRecord
from viz_encoder.trace.head_rows import rows_at_once
from viz_encoder.trace.head_statistics import FARTHEST, of_query, values_of
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.query_sums import HeadBlock, SummedQueries
from viz_encoder.trace.row_measures import row_entropy
from viz_encoder.trace.row_walk import RowWalk, budget_of, walks
from viz_encoder.trace.token_kinds import TokenKinds

BLOCK_BYTES = 2**22  # weights per block, small enough for the CPU cache
BLOCK_BYTES_GPU = 2**28


Measures = tuple[
    Float[Tensor, "batch head statistic"],  # in the order of STATISTICS; NaN without such a query
    Float[Tensor, "batch head"],  # the largest weight between real tokens that are not special
    Int[Tensor, "batch head"],  # its query
    Int[Tensor, "batch head"],  # and its key
]


class LayerSums(SummedQueries):
    """Sums over the real queries of every text's heads, and the strongest links."""

    def __init__(self, layer: LayerTrace, tokens: TokenKinds) -> None:
        n_tokens = layer.q.shape[1]
        super().__init__(tokens, layer.n_heads, n_tokens, min(FARTHEST, n_tokens - 1))
        self.layer = layer
        zeros = tokens.real.new_zeros
        self.distance, self.score = zeros(layer.n_heads), zeros(layer.n_heads) - 1
        self.query, self.key = (zeros(layer.n_heads, dtype=torch.long) for _ in range(2))
        self.of_query = of_query(STATISTICS)
        self.by_query = {name: zeros(layer.n_heads, n_tokens) for name in self.of_query}
        self.places = torch.arange(n_tokens, device=tokens.real.device)
        self.apart = slice(0), zeros(0, n_tokens)  # of the last block's rows; most have the same
        self.no_keys = (self.tokens.real - self.tokens.plain).nonzero(as_tuple=True)

    def add(self, walk: RowWalk, rows: slice, weights: Float[Tensor, "head query key"]) -> None:
        """Some heads' rows; both blocks are written over."""
        heads, scores = walk.heads, walk.scores
        assert scores is not None
        largest = weights.amax(dim=-1)
        if self.layer.mask is not None:
            scores.clamp_min_(torch.finfo(scores.dtype).min)  # −∞ times 0 is no number
        entropy = row_entropy(weights, scores, weights.sum(dim=-1), largest)
        block = HeadBlock(weights, entropy, largest)
        for name, value in self.of_query.items():
            self.by_query[name][heads, rows] = value(block)
        super().add(walk, rows, weights)
        if self.apart[0] != rows:
            self.apart = rows, (self.places[rows, None] - self.places).abs().to(weights.dtype)
        # Row by row: one product over all cells would add up thousands of numbers in float32.
        by_query = torch.einsum("hqk,qk->hq", weights, self.apart[1])
        self.distance[heads] += (by_query * self.tokens.real[heads, rows]).sum(dim=-1)
        self._keep_best(heads, rows, weights)

    def _keep_best(
        self, heads: slice, rows: slice, weights: Float[Tensor, "head query key"]
    ) -> None:
        """The largest weight between two tokens that are not special."""
        of, keys = self.no_keys
        here = (of >= heads.start) & (of < heads.stop)
        weights[of[here] - heads.start, :, keys[here]] = 0.0
        by_query = weights.amax(dim=-1) * self.tokens.plain[heads, rows]
        score, query = by_query.max(dim=-1)
        row = weights.gather(1, query[:, None, None].expand(-1, 1, weights.shape[-1]))
        better = score > self.score[heads]
        for kept, found in (
            (self.score, score),
            (self.query, query + rows.start),
            (self.key, row[:, 0].argmax(dim=-1)),
        ):
            kept[heads] = torch.where(better, found, kept[heads])


def measure_layer(record: LayerRecord, tokens: TokenKinds) -> Measures:
    """Measure one layer's heads over a batch, each text separately, without keeping maps."""
    layer = side_by_side(record)
    ran, n_tokens = LayerSums(layer, tokens), layer.q.shape[1]
    budget = budget_of(layer, BLOCK_BYTES, BLOCK_BYTES_GPU)
    n_rows = min(n_tokens, rows_at_once(n_tokens, budget))
    for walk in walks(layer, n_rows, budget, ran.span or 0):
        ran.add_all(walk)
    sums = replace(ran.sums(), distance=ran.distance, by_query=ran.by_query)
    found = values_of(STATISTICS, sums).T, ran.score, ran.query, ran.key
    statistics, *best = (each.unflatten(0, (-1, ran.n_each)) for each in found)
    return statistics, best[0], best[1], best[2]


def side_by_side(record: LayerRecord) -> LayerTrace:
    """The heads of all texts as those of one layer, text by text; its values are never read."""
    n_batch, n_heads, _, _ = record.q.shape
    mask, relative = record.mask, record.relative
    if mask is not None and (n_batch > 1 or mask.shape[1] > 1):
        mask = mask.expand(n_batch, n_heads, -1, -1)
    q, k = record.q.flatten(0, 1), record.k.flatten(0, 1)
    return LayerTrace(
        *(q, k, k, record.scale),
        mask=None if mask is None else mask.flatten(0, 1),
        relative=None if relative is None else relative.repeat(n_batch, 1),
    )
