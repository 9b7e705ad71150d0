"""Layer measures: a batch's statistics of one layer's heads, text by text, from its q and k."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.corpora.batch_tokens import KEY_KINDS, BatchTokens
from viz_encoder.corpora.statistics import FARTHEST, OFFSETS, STATISTICS, offset_name
from viz_encoder.model.attention import LayerRecord
from viz_encoder.trace.head_rows import rows_at_once
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.row_measures import row_entropy
from viz_encoder.trace.row_walk import RowWalk, budget_of, walks

BLOCK_BYTES = 2**22  # weights per block, small enough for the CPU cache
BLOCK_BYTES_GPU = 2**28
PAIRED = {"a_to_b": (0, 1), "b_to_a": (1, 0)}  # whose words look at whose


@dataclass(frozen=True, eq=False)
class LayerMeasures:
    """Accumulates one layer's heads over a batch, each text separately.

    statistics: in the order of STATISTICS; NaN where a text has no such query.
    score: the largest weight from a real token that is not special to another such, or itself.
    query, key: where that weight is.
    """

    statistics: Float[Tensor, "batch head statistic"]
    score: Float[Tensor, "batch head"]
    query: Int[Tensor, "batch head"]
    key: Int[Tensor, "batch head"]


class LayerSums:
    """Sums over the real queries of every text's heads, added block by block."""

    def __init__(self, layer: LayerTrace, tokens: BatchTokens) -> None:
        self.layer, self.tokens = layer, tokens
        n_heads, n_tokens, _ = layer.q.shape
        self.n_each = n_heads // len(tokens.real)
        self.span = min(FARTHEST, n_tokens - 1)
        zeros = tokens.real.new_zeros
        self.entropy, self.distance, self.confidence, self.largest, self.score = (
            zeros(n_heads) for _ in range(5)
        )
        self.by_key = zeros(n_heads, 3, n_tokens)  # on all keys, words of A, of B
        self.bands = zeros(n_heads, 2 * self.span + 1)
        self.score -= 1
        self.query, self.key = (zeros(n_heads, dtype=torch.long) for _ in range(2))
        found = tokens.by_head(self.n_each, self.span)
        self.queries, self.real, self.plain, special, self.both = found
        self.special = special.nonzero(as_tuple=True)

    def run(self) -> None:
        """Go through all rows of all heads, within a budget of weights at a time."""
        n_tokens = self.layer.q.shape[1]
        budget = budget_of(self.layer, BLOCK_BYTES, BLOCK_BYTES_GPU)
        n_rows = min(n_tokens, rows_at_once(n_tokens, budget))
        for walk in walks(self.layer, n_rows, budget, self.span):
            for rows, weights in walk.blocks():
                self._add(walk, rows, weights)

    def _add(self, walk: RowWalk, rows: slice, weights: Float[Tensor, "head query key"]) -> None:
        """Some heads' rows; both blocks are written over."""
        heads, scores = walk.heads, walk.scores
        assert scores is not None
        real, largest = self.real[heads, rows], weights.amax(dim=-1)
        if self.layer.mask is not None:
            scores.clamp_min_(torch.finfo(scores.dtype).min)  # −∞ times 0 is no number
        entropy = row_entropy(weights, scores, weights.sum(dim=-1), largest)
        self.entropy[heads] += (entropy * real).sum(dim=-1)
        self.confidence[heads] += (largest * real).sum(dim=-1)
        self.largest[heads] = self.largest[heads].maximum((largest * real).amax(dim=-1))
        n_sums = self.queries.shape[1]
        self.by_key[heads, :n_sums] += self.queries[heads, :, rows] @ weights
        places = torch.arange(weights.shape[-1], device=weights.device)
        apart = (places[rows, None] - places).abs().to(weights.dtype)
        # Row by row: one product over all cells would add up thousands of numbers in float32.
        by_query = torch.einsum("hqk,qk->hq", weights, apart)
        self.distance[heads] += (by_query * real).sum(dim=-1)
        self.bands[heads] += walk.band_sums(rows, self.both[heads, rows])
        self._keep_best(heads, rows, weights)

    def _keep_best(
        self, heads: slice, rows: slice, weights: Float[Tensor, "head query key"]
    ) -> None:
        """The largest weight between two tokens that are not special."""
        of, keys = self.special
        here = (of >= heads.start) & (of < heads.stop)
        weights[of[here] - heads.start, :, keys[here]] = 0.0
        by_query = weights.amax(dim=-1) * self.plain[heads, rows]
        score, query = by_query.max(dim=-1)
        row = weights.gather(1, query[:, None, None].expand(-1, 1, weights.shape[-1]))
        better = score > self.score[heads]
        for kept, found in (
            (self.score, score),
            (self.query, query + rows.start),
            (self.key, row[:, 0].argmax(dim=-1)),
        ):
            kept[heads] = torch.where(better, found, kept[heads])

    def statistics(self) -> Float[Tensor, "batch head statistic"]:
        """In the order of STATISTICS."""
        n_real, missing = self.tokens.n_real[:, None], self._by_text(self.entropy) * torch.nan
        found = {
            "entropy": self._by_text(self.entropy) / n_real,
            "distance": self._by_text(self.distance) / n_real,
            "confidence": self._by_text(self.confidence) / n_real,
            "largest": self._by_text(self.largest),
        }
        by_key = self._by_text(self.by_key)
        on_kinds = by_key[:, :, 0] @ self.tokens.kinds / n_real[..., None]
        found |= dict(zip(KEY_KINDS, on_kinds.unbind(dim=-1), strict=True))
        shares = self._by_text(self.bands) / self._by_text(self.both.sum(dim=1))
        for at in OFFSETS:
            near = abs(at) <= self.span
            found[offset_name(at)] = shares[:, :, at + self.span] if near else missing
        found |= self._across(by_key) if self.tokens.paired else {}
        return torch.stack([found.get(name, missing) for name in STATISTICS], dim=-1)

    def _by_text(self, of_heads: Tensor) -> Tensor:
        return of_heads.unflatten(0, (-1, self.n_each))

    def _across(
        self, by_key: Float[Tensor, "batch head 3 key"]
    ) -> dict[str, Float[Tensor, "batch head"]]:
        """Weight between words of the two texts; NaN unless both have words."""
        sides = self.tokens.sides
        n_words = sides.sum(dim=2)
        both = (n_words > 0).all(dim=1, keepdim=True).to(n_words)
        found, sums, counts = {}, [], []
        for name, (looks, looked_at) in PAIRED.items():
            total = (by_key[:, :, 1 + looks] * sides[:, None, looked_at]).sum(dim=-1)
            count = n_words[:, looks, None] * both
            sums.append(total)
            counts.append(count)
            found[name] = total / count
        return found | {"across": (sums[0] + sums[1]) / (counts[0] + counts[1])}


def measure_layer(record: LayerRecord, tokens: BatchTokens) -> LayerMeasures:
    """Measure one layer's heads over a batch, without keeping maps."""
    sums = LayerSums(side_by_side(record), tokens)
    sums.run()
    best = (each.unflatten(0, (-1, sums.n_each)) for each in (sums.score, sums.query, sums.key))
    return LayerMeasures(sums.statistics(), *best)


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
