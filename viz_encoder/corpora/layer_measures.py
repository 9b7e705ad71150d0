"""Layer measures: a batch's statistics of one layer's heads, text by text, from its q and k."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.corpora.batch_tokens import KEY_KINDS, BatchTokens
from viz_encoder.corpora.statistics import FARTHEST, OFFSETS, STATISTICS, offset_name
from viz_encoder.model.attention import Buffers, LayerRecord, attention_weights
from viz_encoder.model.positions import spread
from viz_encoder.trace.row_measures import row_entropy

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
    """Sums over the real queries of every text and head, added block by block."""

    def __init__(self, record: LayerRecord, tokens: BatchTokens) -> None:
        self.record, self.tokens = record, tokens
        n_batch, n_heads, n_tokens, _ = record.q.shape
        self.size = n_batch, n_heads, n_tokens
        self.span = min(FARTHEST, n_tokens - 1)
        zeros = tokens.real.new_zeros
        self.entropy, self.distance, self.confidence, self.largest = (
            zeros(n_batch, n_heads) for _ in range(4)
        )
        self.by_key = zeros(n_batch, n_heads, 3, n_tokens)  # on all keys, words of A, of B
        self.bands = zeros(n_batch, n_heads, 2 * self.span + 1)
        self.score = zeros(n_batch, n_heads) - 1
        self.query, self.key = (zeros(n_batch, n_heads, dtype=torch.long) for _ in range(2))
        real = tokens.real
        self.queries = torch.cat([real[:, None], tokens.sides], dim=1)
        if not tokens.paired:
            self.queries = self.queries[:, :1]
        self.special = (real * (1 - tokens.plain)).nonzero(as_tuple=True)

    def run(self) -> None:
        """Go through all rows of all heads, within a budget of weights at a time."""
        for heads, rows, scores, weights, bands in _blocks(self.record, self.size, self.span):
            self._add(heads, rows, scores, weights, bands)

    def _add(
        self,
        heads: slice,
        rows: slice,
        scores: Float[Tensor, "batch head query key"],
        weights: Float[Tensor, "batch head query key"],
        bands: Float[Tensor, "batch head query band"],
    ) -> None:
        """Some heads' rows; both blocks are written over."""
        real = self.tokens.real[:, None, rows]
        largest = weights.amax(dim=-1)
        if self.record.mask is not None:
            scores.clamp_min_(torch.finfo(scores.dtype).min)  # −∞ times 0 is no number
        entropy = row_entropy(weights, scores, weights.sum(dim=-1), largest)
        self.entropy[:, heads] += (entropy * real).sum(dim=-1)
        self.confidence[:, heads] += (largest * real).sum(dim=-1)
        self.largest[:, heads] = self.largest[:, heads].maximum((largest * real).amax(dim=-1))
        self.by_key[:, heads, : self.queries.shape[1]] += torch.matmul(
            self.queries[:, None, :, rows], weights
        )
        places = torch.arange(self.size[2], device=weights.device)
        apart = (places[rows, None] - places).abs().to(weights.dtype)
        # Row by row: one product over all cells would add up thousands of numbers in float32.
        by_query = torch.einsum("bhqk,qk->bhq", weights, apart)
        self.distance[:, heads] += (by_query * real).sum(dim=-1)
        self.bands[:, heads] += (bands * self._both(rows)[:, None]).sum(dim=2)
        self._keep_best(heads, rows, weights)

    def _both(self, rows: slice) -> Float[Tensor, "batch query band"]:
        """1 where a real query has a real token at the offset of each band."""
        real, span = self.tokens.real, self.span
        beside = torch.nn.functional.pad(real, (span, span)).unfold(1, 2 * span + 1, 1)
        return real[:, rows, None] * beside[:, rows]

    def _keep_best(
        self, heads: slice, rows: slice, weights: Float[Tensor, "batch head query key"]
    ) -> None:
        """The largest weight between two tokens that are not special."""
        texts, keys = self.special
        weights[texts, :, :, keys] = 0.0
        by_query = weights.amax(dim=-1) * self.tokens.plain[:, None, rows]
        score, query = by_query.max(dim=-1)
        row = weights.gather(2, query[..., None, None].expand(-1, -1, 1, self.size[2]))
        better = score > self.score[:, heads]
        for kept, found in (
            (self.score, score),
            (self.query, query + rows.start),
            (self.key, row[:, :, 0].argmax(dim=-1)),
        ):
            kept[:, heads] = torch.where(better, found, kept[:, heads])

    def statistics(self) -> Float[Tensor, "batch head statistic"]:
        """In the order of STATISTICS."""
        n_real, missing = self.tokens.n_real[:, None], torch.full_like(self.entropy, torch.nan)
        found = {
            "entropy": self.entropy / n_real,
            "distance": self.distance / n_real,
            "confidence": self.confidence / n_real,
            "largest": self.largest,
        }
        on_kinds = self.by_key[:, :, 0] @ self.tokens.kinds / n_real[..., None]
        found |= dict(zip(KEY_KINDS, on_kinds.unbind(dim=-1), strict=True))
        n_both = self._both(slice(0, self.size[2])).sum(dim=1)
        shares = self.bands / n_both[:, None]
        for at in OFFSETS:
            near = abs(at) <= self.span
            found[offset_name(at)] = shares[:, :, at + self.span] if near else missing
        found |= self._across() if self.tokens.paired else {}
        return torch.stack([found.get(name, missing) for name in STATISTICS], dim=-1)

    def _across(self) -> dict[str, Float[Tensor, "batch head"]]:
        """Weight between words of the two texts; NaN unless both have words."""
        sides = self.tokens.sides
        n_words = sides.sum(dim=2)
        both = (n_words > 0).all(dim=1, keepdim=True).to(n_words)
        found, sums, counts = {}, [], []
        for name, (looks, looked_at) in PAIRED.items():
            total = (self.by_key[:, :, 1 + looks] * sides[:, None, looked_at]).sum(dim=-1)
            count = n_words[:, looks, None] * both
            sums.append(total)
            counts.append(count)
            found[name] = total / count
        return found | {"across": (sums[0] + sums[1]) / (counts[0] + counts[1])}


def measure_layer(record: LayerRecord, tokens: BatchTokens) -> LayerMeasures:
    """Measure one layer's heads over a batch, without keeping maps."""
    sums = LayerSums(record, tokens)
    sums.run()
    return LayerMeasures(sums.statistics(), sums.score, sums.query, sums.key)


def _blocks(
    record: LayerRecord, size: tuple[int, int, int], span: int
) -> Iterator[tuple[slice, slice, Tensor, Tensor, Tensor]]:
    """Heads, rows, scores, weights and their bands: the weight at each offset, by query.

    Weights lie in memory with `span` zeros before and after them, and the bands are a view of that
    memory: the weight at an offset is so many places on. Where a row has no such key, a view
    reaches into the row beside it; who reads the bands leaves these out.
    """
    n_batch, n_heads, n = size
    device = record.q.device
    wide = torch.promote_types(record.q.dtype, torch.float32)
    fits = (BLOCK_BYTES if device.type == "cpu" else BLOCK_BYTES_GPU) // (4 * n_batch * n)
    n_rows = min(n, max(1, fits))
    step = max(1, min(n_heads, fits // n_rows))
    memory = torch.zeros(2, n_batch * step * n_rows * n + 2 * span, dtype=wide, device=device)
    keys = _keys(record)
    for first in range(0, n_heads, step):
        heads = slice(first, min(first + step, n_heads))
        k = keys[:, heads].to(wide).flatten(0, 1)
        for start in range(0, n, n_rows):
            rows = slice(start, min(start + n_rows, n))
            shape = n_batch, heads.stop - heads.start, rows.stop - rows.start, n
            n_cells = shape[0] * shape[1] * shape[2] * n
            scores, weights = (part[span : span + n_cells].view(-1, *shape[2:]) for part in memory)
            memory[1, span + n_cells :] = 0.0
            q = record.q[:, heads, rows].flatten(0, 1)
            mask, bias = _mask(record, heads, rows, shape), _bias(record, heads, rows, n_batch)
            attention_weights(q, k, mask, record.scale, bias, Buffers(scores, weights))
            strides = n * shape[2], n + 1, 1
            bands = memory[1].as_strided(
                (len(scores), shape[2], 2 * span + 1), strides, memory[1].storage_offset() + start
            )
            yield heads, rows, *(x.unflatten(0, shape[:2]) for x in (scores, weights, bands))


def _keys(record: LayerRecord) -> Float[Tensor, "batch head key d_head"]:
    group = record.q.shape[1] // record.k.shape[1]
    return record.k if group == 1 else record.k.repeat_interleave(group, dim=1)


def _mask(
    record: LayerRecord, heads: slice, rows: slice, shape: tuple[int, int, int, int]
) -> Tensor | None:
    mask = record.mask
    if mask is None:
        return None
    mask = mask[:, heads] if mask.shape[1] > 1 else mask
    mask = mask[:, :, rows] if mask.shape[2] > 1 else mask
    return mask.expand(*shape[:2], -1, -1).flatten(0, 1)


def _bias(record: LayerRecord, heads: slice, rows: slice, n_batch: int) -> Tensor | None:
    """A relative position's part of the scores, the same for every text."""
    if record.relative is None:
        return None
    queries = torch.arange(record.q.shape[2], device=record.q.device)[rows]
    return spread(record.relative[heads], queries).repeat(n_batch, 1, 1)
