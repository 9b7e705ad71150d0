"""Survey: thumbnails and statistics of every head, from one sweep over each layer's rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from math import log
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.result import Columns, SeriesResult, TableResult
from viz_encoder.trace import LayerTrace, Trace

SIZE = 64
BLOCK_BYTES = 2**20  # of one head's rows at a time, few enough to stay in the processor's cache
BLOCK_BYTES_GPU = 2**26
SMALLEST = torch.finfo(torch.float32).tiny


@dataclass(frozen=True)
class Statistic:
    """One number of a head in words, and what it can be in a run of so many real tokens."""

    title: str
    unit: str
    meaning: str
    edge: str = ""  # which queries are left out, in a sentence
    over: str = "Mean over the real queries."
    most: Callable[[int], float] = lambda n_tokens: 1.0  # the largest it can be
    even: Callable[[int], float] | None = None  # where all tokens get the same weight

    def of(self, n_tokens: int) -> dict[str, Any]:
        """The same as plain data, for a run of n_tokens real tokens."""
        numbers = {
            "most": self.most(n_tokens),
            "even": None if self.even is None else self.even(n_tokens),
        }
        return {field.name: getattr(self, field.name) for field in fields(self)} | numbers


STATISTICS = {
    "entropy": Statistic(
        "Entropy", "nats", "how evenly each query spreads its weight", most=log, even=log
    ),
    "distance": Statistic(
        "Mean distance",
        "tokens",
        "how far away the keys are, weighted",
        # Each query looks at the end that is farther from it.
        most=lambda n_tokens: (3 * n_tokens**2 - 2 * n_tokens - n_tokens % 2) / (4 * n_tokens),
        even=lambda n_tokens: (n_tokens**2 - 1) / (3 * n_tokens),
    ),
    "previous": Statistic(
        "Weight on the previous token",
        "share",
        "heads that look at the previous token",
        "The first query has none and is left out.",
    ),
    "next": Statistic(
        "Weight on the next token",
        "share",
        "heads that look at the next token",
        "The last query has none and is left out.",
    ),
    "diagonal": Statistic(
        "Weight on the query itself", "share", "heads that look at the same token"
    ),
    "first": Statistic("Weight on the first token", "share", "heads that look at the first token"),
    "special": Statistic("Weight on special tokens", "share", "heads that look at special tokens"),
    "largest": Statistic(
        "Largest single weight",
        "share",
        "heads with one weight that stands out",
        over="The largest of all real queries.",
    ),
}
BETWEEN_TOKENS = ("distance", "diagonal", "previous", "next", "special")  # unknown across sequences


@dataclass(frozen=True, eq=False, repr=False)
class LayerSurvey(TableResult):
    """One layer's heads; weights are shares of a query's total, NaN where all pairs are masked.

    A thumbnail has at most `size` cells a side, the largest or the mean weight of a block each.
    Statistics are means over the real (not padding) queries, in the units of STATISTICS;
    `previous` and `next` over those with a real token before or after them, so that they are NaN
    for a single token; `largest` is the largest single weight of any query. Those that compare a
    query's place with a key's are NaN for cross-attention.
    """

    thumbnails_max: Float[np.ndarray, "head row col"]
    thumbnails_mean: Float[np.ndarray, "head row col"]
    statistics: dict[str, Float[np.ndarray, " head"]]

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


def survey(trace: Trace, size: int = SIZE) -> Survey:
    """All layers, in order: thumbnails of at most `size` cells a side, and statistics of each head.

    As a table (with pandas), to find heads:
    `vz.analyses.survey(trace).to_frame().nlargest(4, "previous")`.
    """
    return Survey(tuple(survey_layers(trace, size)))


def survey_layers(trace: Trace, size: int = SIZE) -> Iterator[LayerSurvey]:
    """Each layer as soon as it is swept; never more than a block of one head's rows is held."""
    return (surveyed for surveyed, _ in swept_layers(trace, size))


def swept_layers(
    trace: Trace, size: int = SIZE
) -> Iterator[tuple[LayerSurvey, Float[np.ndarray, "head key"]]]:
    """The same, each with the mean weight that every key gets over the real queries of a head."""
    for layer in trace.layers:
        sweep = _Sweep(layer, size, trace)
        for block in _blocks(layer, trace.valid, sweep.row_step):
            for head in range(layer.n_heads):
                sweep.add(head, block)
        yield sweep.result(), sweep.key_means()


def _blocks(layer: LayerTrace, valid: Bool[Tensor, " query"], step: int) -> Iterator[_Block]:
    """All rows in order; a block is whole cells of `step` rows each, or lies within one cell."""
    n, n_keys, device = layer.q.shape[1], layer.k.shape[1], layer.q.device
    budget = BLOCK_BYTES if device.type == "cpu" else BLOCK_BYTES_GPU
    fits = max(1, budget // (4 * n_keys))
    keys = torch.arange(n_keys, device=device, dtype=torch.float32)
    valid, start = valid.cpu(), 0
    while start < n:
        whole = min(fits, n - start) // step * step
        in_cell = step - start % step
        stop = min(start + (whole if whole and in_cell == step else min(fits, in_cell)), n)
        rows = slice(start, stop)
        real = None if bool(valid[rows].all()) else valid[rows].to(device, torch.float32)[:, None]
        queries = torch.arange(start, stop, device=device, dtype=torch.float32)
        away = None if layer.cross else (queries[:, None] - keys).abs().flatten()
        yield _Block(rows, slice(start // step, (stop - 1) // step + 1), real, away)
        start = stop


class _Sweep:
    """What is known of one layer's heads, after the blocks that were added."""

    def __init__(self, layer: LayerTrace, size: int, trace: Trace) -> None:
        n, n_keys, device = layer.q.shape[1], layer.k.shape[1], layer.q.device
        self.layer = layer
        self.row_step, self.key_step = -(-n // size), -(-n_keys // size)
        shape = (layer.n_heads, -(-n // self.row_step), -(-n_keys // self.key_step))
        self.tops = torch.zeros(shape, device=device)  # no weight is below 0
        self.sums = torch.zeros(shape, device=device)
        self.statistics = torch.zeros(layer.n_heads, len(STATISTICS), device=device)
        self.totals = torch.zeros(layer.n_heads, n_keys, device=device)
        special = torch.tensor(trace.sample.special, dtype=torch.float32, device=device)
        self.special = None if layer.cross else special
        self.real = trace.valid.to(device, torch.float32)

    def add(self, head: int, block: _Block) -> None:
        weights = self.layer.weights(slice(head, head + 1), block.rows)[0].float()
        n_cells = block.cells.stop - block.cells.start
        by_cell = weights.unflatten(0, (n_cells, -1))
        top = self._by_key_cell(by_cell.amax(dim=1)).amax(dim=2)
        sums = by_cell.sum(dim=1)
        self.tops[head, block.cells] = self.tops[head, block.cells].maximum(top)
        self.sums[head, block.cells] += self._by_key_cell(sums).sum(dim=2)
        counted = weights if block.valid is None else weights * block.valid
        totals = sums.sum(dim=0) if block.valid is None else counted.sum(dim=0)
        self.totals[head] += totals
        largest = (top if block.valid is None else counted).amax()
        self.statistics[head, :-1] += self._sums(counted, totals, block)
        self.statistics[head, -1] = self.statistics[head, -1].maximum(largest)

    def key_means(self) -> Float[np.ndarray, "head key"]:
        means: Float[np.ndarray, "head key"] = (self.totals / self.real.sum()).cpu().numpy()
        return means

    def result(self) -> LayerSurvey:
        n, n_keys = self.layer.q.shape[1], self.layer.k.shape[1]
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
        return LayerSurvey(self.tops.cpu().numpy(), mean.cpu().numpy(), statistics)

    def _sums(
        self, weights: Float[Tensor, "query key"], totals: Float[Tensor, " key"], block: _Block
    ) -> Float[Tensor, " statistic"]:
        """Sums over the real queries of a block, in the order of STATISTICS but for the last."""
        flat = weights.flatten() if self.layer.sink is None else _shares(weights).flatten()
        entropy = -torch.dot(flat, flat.clamp_min(SMALLEST).log_())
        nothing = torch.zeros_like(entropy)
        if block.distance is None or self.special is None:
            return torch.stack([entropy, *(nothing,) * 4, totals[0], nothing])
        bands = (self._band(weights, block.rows.start + shift) for shift in (-1, 1, 0))
        distance = torch.dot(flat, block.distance)
        return torch.stack([entropy, distance, *bands, totals[0], torch.dot(totals, self.special)])

    def _band(self, weights: Float[Tensor, "query key"], first_key: int) -> Float[Tensor, ""]:
        """The weight on real keys along one diagonal; that on padding is on no token."""
        band = weights.diagonal(first_key)
        return torch.dot(band, self.real[max(first_key, 0) :][: len(band)])

    def _n_queries(self) -> Float[Tensor, " statistic"]:
        """How many are averaged: for the previous and the next token, those that have one."""
        n_real = self.real.sum()
        n_pairs = torch.dot(self.real[1:], self.real[:-1])
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
        for axis, step in ((1, self.row_step), (2, self.key_step)):
            if mask.shape[axis] > 1:
                missing = -mask.shape[axis] % step
                padded = F.pad(mask.movedim(axis, -1), (0, missing))
                mask = padded.unflatten(-1, (-1, step)).any(dim=-1).movedim(-1, axis)
        return ~mask.expand(self.tops.shape)


def _shares(weights: Float[Tensor, "query key"]) -> Float[Tensor, "query key"]:
    """Of the weight that keys have, where a sink takes the rest."""
    return weights / weights.sum(dim=-1, keepdim=True).clamp_min(SMALLEST)


def _sides(n: int, step: int) -> Float[Tensor, " cell"]:
    """Tokens in each cell along one axis; the last may hold fewer."""
    edges = torch.arange(0, n + step, step).clamp_max(n)
    return edges.diff().float()


ANALYSES = (survey,)
