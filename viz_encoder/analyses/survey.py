"""Survey: thumbnails and statistics of every head, from one sweep over each layer's rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.result import Columns, SeriesResult, TableResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.head_statistics import BETWEEN_TOKENS
from viz_encoder.trace.head_statistics import STATISTICS as STATISTICS
from viz_encoder.trace.kept_tokens import KeptTokens, kept_tokens

SIZE = 64
BLOCK_BYTES = 2**20  # of one head's rows at a time, few enough to stay in the processor's cache
BLOCK_BYTES_GPU = 2**26
SMALLEST = torch.finfo(torch.float32).tiny


@dataclass(frozen=True, eq=False, repr=False)
class LayerSurvey(TableResult):
    """One layer's heads; weights are shares of a query's total, NaN where all pairs are masked.

    A thumbnail has at most `size` cells a side, the largest or the mean weight of a block each.
    Statistics are means over the real (not padding) queries, in the units of STATISTICS;
    `previous` and `next` over those with a real token before or after them, so that they are NaN
    for a single token; `largest` is the largest single weight of any query. Those that compare a
    query's place with a key's are NaN for cross-attention. Where special tokens are hidden, all of
    it is over the tokens that are left, and `special` is NaN.
    """

    thumbnails_max: Float[np.ndarray, "head row col"]
    thumbnails_mean: Float[np.ndarray, "head row col"]
    statistics: dict[str, Float[np.ndarray, " head"]]

    @property
    def nbytes(self) -> int:
        """Bytes of the thumbnails and statistics."""
        statistics = sum(values.nbytes for values in self.statistics.values())
        return self.thumbnails_max.nbytes + self.thumbnails_mean.nbytes + statistics

    def columns(self) -> Columns:
        """One line per head, one column per statistic."""
        heads = list(range(len(self.thumbnails_max)))
        return {"head": heads} | {n: values.tolist() for n, values in self.statistics.items()}


@dataclass(frozen=True, eq=False, repr=False)
class Survey(SeriesResult[LayerSurvey], items="layers"):
    """All layers, in order: survey(trace)[3].statistics["entropy"]."""

    layers: tuple[LayerSurvey, ...]

    def columns(self) -> Columns:
        """One line per layer and head, one column per statistic."""
        found: Columns = {name: [] for name in ("layer", "head", *STATISTICS)}
        for number, layer in enumerate(self.layers):
            own = layer.columns()
            for name, values in (own | {"layer": [number] * len(own["head"])}).items():
                found[name] += values
        return found


@dataclass(frozen=True, eq=False)
class _Block:
    """Some rows, the same for all heads: whole thumbnail cells, or a part of one."""

    rows: slice
    cells: slice  # the rows of thumbnail cells they belong to
    valid: Float[Tensor, "query 1"] | None  # None: all of these queries are real
    distance: Float[Tensor, " pair"] | None  # |query − key|; None for cross-attention


def survey(
    trace: Trace, size: int = SIZE, *, hide_special: bool = False, renormalize: bool = False
) -> Survey:
    """All layers, in order: thumbnails of at most `size` cells a side, and statistics of each head.

    As a table (with pandas), to find heads:
    `vz.analyses.survey(trace).to_frame().nlargest(4, "previous")`.

    Args:
        trace: the run.
        size: most cells a side of a thumbnail.
        hide_special: whether the rows and columns of special tokens such as [CLS] are left out.
            `previous` and `next` are then over the queries whose neighbor is shown, `first` is
            the first token shown, `special` NaN, and `entropy` and `distance` are of each query's
            weights on the tokens shown, divided by their sum; positions are those of the whole run.
        renormalize: whether rows are divided by their sum over the tokens shown.

    Raises:
        SelectionError: no token is left.
    """
    return Survey(tuple(survey_layers(trace, size, hide_special, renormalize)))


def survey_layers(
    trace: Trace, size: int = SIZE, hide_special: bool = False, renormalize: bool = False
) -> Iterator[LayerSurvey]:
    """Each layer as soon as it is swept; never more than a block of one head's rows is held."""
    swept = swept_layers(trace, size, hide_special, renormalize)
    return (surveyed for surveyed, _ in swept)


def swept_layers(
    trace: Trace,
    size: int = SIZE,
    hide_special: bool = False,
    renormalize: bool = False,
    words: bool = False,
) -> Iterator[tuple[LayerSurvey, Float[np.ndarray, "head key"]]]:
    """The same, each with the mean weight that every shown key gets over the shown real queries.

    With `words`, the means are of words: over a word's queries, then over words; the survey itself
    stays one of tokens.
    """
    for layer in trace.layers:
        kept = kept_tokens(trace, layer, hide_special=hide_special, words=words)
        sweep = _Sweep(layer, size, trace, kept, renormalize)
        for block in _blocks(layer, kept, sweep.row_step):
            for head in range(layer.n_heads):
                sweep.add(head, block)
        yield sweep.result(), sweep.key_means()


def _blocks(layer: LayerTrace, kept: KeptTokens, step: int) -> Iterator[_Block]:
    """All rows in order; a block is whole cells of `step` rows each, or lies within one cell."""
    n, n_keys, device = len(kept.real), layer.k.shape[1], layer.q.device
    budget = BLOCK_BYTES if device.type == "cpu" else BLOCK_BYTES_GPU
    fits = max(1, budget // (4 * n_keys))
    places, valid, start = kept.positions, kept.real.bool().cpu(), 0
    while start < n:
        whole = min(fits, n - start) // step * step
        in_cell = step - start % step
        stop = min(start + (whole if whole and in_cell == step else min(fits, in_cell)), n)
        rows = slice(start, stop)
        real = None if bool(valid[rows].all()) else kept.real[rows][:, None]
        away = None if layer.cross else (places[rows, None] - places).abs().flatten()
        yield _Block(rows, slice(start // step, (stop - 1) // step + 1), real, away)
        start = stop


class _Sweep:
    """What is known of one layer's heads, after the blocks that were added."""

    def __init__(
        self, layer: LayerTrace, size: int, trace: Trace, kept: KeptTokens, renormalize: bool
    ) -> None:
        n, device = len(kept.real), layer.q.device
        n_keys = layer.k.shape[1] if kept.keys is None else len(kept.keys)
        self.layer, self.kept, self.sides = layer, kept, (n, n_keys)
        self.renormalize = renormalize
        self.row_step, self.key_step = -(-n // size), -(-n_keys // size)
        shape = (layer.n_heads, -(-n // self.row_step), -(-n_keys // self.key_step))
        self.tops = torch.zeros(shape, device=device)  # no weight is below 0
        self.sums = torch.zeros(shape, device=device)
        self.statistics = torch.zeros(layer.n_heads, len(STATISTICS), device=device)
        self.totals = torch.zeros(layer.n_heads, n_keys, device=device)
        special = torch.tensor(trace.sample.special, dtype=torch.float32, device=device)
        self.special = None if layer.cross else special[kept.positions.long()]
        self.hides = kept.queries is not None
        self.real, self.queries = kept.real, kept.shares_of_mean()
        self.neighbors = {shift: kept.neighbors(shift) for shift in (-1, 1, 0)}

    def add(self, head: int, block: _Block) -> None:
        weights = self._weights(head, block.rows)
        n_cells = block.cells.stop - block.cells.start
        by_cell = weights.unflatten(0, (n_cells, -1))
        top = self._by_key_cell(by_cell.amax(dim=1)).amax(dim=2)
        sums = by_cell.sum(dim=1)
        self.tops[head, block.cells] = self.tops[head, block.cells].maximum(top)
        self.sums[head, block.cells] += self._by_key_cell(sums).sum(dim=2)
        counted = weights if block.valid is None else weights * block.valid
        totals = sums.sum(dim=0) if block.valid is None else counted.sum(dim=0)
        self.totals[head] += totals if self.queries is None else self.queries[block.rows] @ weights
        largest = (top if block.valid is None else counted).amax()
        self.statistics[head, :-1] += self._sums(counted, totals, block)
        self.statistics[head, -1] = self.statistics[head, -1].maximum(largest)

    def _weights(self, head: int, rows: slice) -> Float[Tensor, "query key"]:
        """Rows of the map as it is shown."""
        queries = rows if self.kept.queries is None else self.kept.queries[rows]
        weights = self.layer.weights(slice(head, head + 1), queries)[0].float()
        if self.kept.keys is not None:
            weights = weights[:, self.kept.keys]
        return _shares(weights) if self.renormalize else weights

    def key_means(self) -> Float[np.ndarray, "head key"]:
        """Over the real queries; of words, the mean over words of their sums."""
        total = self.real.sum() if self.queries is None else self.queries.sum()
        means, owners = self.totals / total, self.kept.owners
        if owners is not None and not self.layer.cross:
            words = torch.zeros(len(means), int(owners[-1]) + 1, device=means.device)
            means = words.index_add_(1, owners, means)
        found: Float[np.ndarray, "head key"] = means.cpu().numpy()
        return found

    def result(self) -> LayerSurvey:
        n, n_keys = self.sides
        pairs = _sides(n, self.row_step)[:, None] * _sides(n_keys, self.key_step)
        mean = self.sums / pairs.to(self.sums.device)
        forbidden = self._forbidden()
        if forbidden is not None:
            self.tops[forbidden] = mean[forbidden] = torch.nan
        self.statistics[:, :-1] /= self._n_queries()
        columns = self.statistics.T.cpu().numpy()
        statistics = dict(zip(STATISTICS, columns, strict=True))
        if self.layer.cross:
            statistics |= {name: np.full_like(columns[0], np.nan) for name in BETWEEN_TOKENS}
        elif self.hides:
            statistics["special"] = np.full_like(columns[0], np.nan)
        return LayerSurvey(self.tops.cpu().numpy(), mean.cpu().numpy(), statistics)

    def _sums(
        self, weights: Float[Tensor, "query key"], totals: Float[Tensor, " key"], block: _Block
    ) -> Float[Tensor, " statistic"]:
        """Sums over the real queries of a block, in the order of STATISTICS but for the last."""
        whole = self.layer.sink is None and not self.hides  # rows sum to 1 by themselves
        flat = (weights if whole else _shares(weights)).flatten()
        entropy = -torch.dot(flat, flat.clamp_min(SMALLEST).log_())
        nothing = torch.zeros_like(entropy)
        if block.distance is None or self.special is None:
            return torch.stack([entropy, *(nothing,) * 4, totals[0], nothing])
        start = block.rows.start
        bands = (self._band(weights, start + n, counts) for n, counts in self.neighbors.items())
        distance = torch.dot(flat, block.distance)
        return torch.stack([entropy, distance, *bands, totals[0], torch.dot(totals, self.special)])

    def _band(
        self, weights: Float[Tensor, "query key"], first_key: int, counts: Float[Tensor, " key"]
    ) -> Float[Tensor, ""]:
        """The weight along one diagonal on the keys that count."""
        band = weights.diagonal(first_key)
        return torch.dot(band, counts[max(first_key, 0) :][: len(band)])

    def _n_queries(self) -> Float[Tensor, " statistic"]:
        """How many are averaged: for the previous and the next token, those that have one."""
        n_real = self.real.sum()
        n_pairs = torch.dot(self.neighbors[-1][:-1], self.real[1:])
        return torch.stack([n_real] * 2 + [n_pairs] * 2 + [n_real] * (len(STATISTICS) - 5))

    def _by_key_cell(self, x: Float[Tensor, "row key"]) -> Float[Tensor, "row col within"]:
        missing = -x.shape[1] % self.key_step
        padded = F.pad(x, (0, missing)) if missing else x
        return padded.unflatten(1, (-1, self.key_step))

    def _forbidden(self) -> Bool[Tensor, "head row col"] | None:
        """Thumbnail cells in which no pair at all may attend."""
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


def _shares(weights: Float[Tensor, "query key"]) -> Float[Tensor, "query key"]:
    """Of the weight that the keys have, where a sink or hidden keys take the rest."""
    return weights / weights.sum(dim=-1, keepdim=True).clamp_min(SMALLEST)


def _sides(n: int, step: int) -> Float[Tensor, " cell"]:
    """Tokens in each cell along one axis; the last may hold fewer."""
    edges = torch.arange(0, n + step, step).clamp_max(n)
    return edges.diff().float()


ANALYSES = (survey,)
