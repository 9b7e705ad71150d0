"""Survey: thumbnails and statistics of every head, and the proof, from one sweep a layer."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.arguments import Count, public
from viz_encoder.result import Columns, SeriesResult, TableResult
from viz_encoder.trace import Trace
from viz_encoder.trace.head_statistics import STATISTICS as STATISTICS
from viz_encoder.trace.head_sweep import HeadSweep
from viz_encoder.trace.layer import TENSORS, LayerTrace
from viz_encoder.trace.row_walk import BLOCK_BYTES, BLOCK_BYTES_GPU, budget_of
from viz_encoder.trace.token_selection import kept_tokens

SIZE = 64


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

    def of(self, heads: slice) -> "LayerSurvey":
        """Some of the heads."""
        statistics = {name: values[heads] for name, values in self.statistics.items()}
        return LayerSurvey(self.thumbnails_max[heads], self.thumbnails_mean[heads], statistics)

    def columns(self) -> Columns:
        """One line per head, one column per statistic."""
        heads = list(range(len(self.thumbnails_max)))
        return {"head": heads} | {n: values.tolist() for n, values in self.statistics.items()}


@dataclass(frozen=True, eq=False, repr=False)
class Survey(SeriesResult[LayerSurvey], items="layers", number="layer"):
    """All layers, in order: survey(trace)[3].statistics["entropy"]."""

    layers: tuple[LayerSurvey, ...]


@public
def survey(
    trace: Trace, size: Count = SIZE, *, hide_special: bool = False, renormalize: bool = False
) -> Survey:
    """Survey all layers in order: thumbnails of at most `size` cells per side, and statistics.

    Unless tokens are hidden or rows renormalized, the same sweep also checks every row against
    what ran, and `trace.proof` then costs nothing more.

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
        SelectionError: no token is left, or a layer has fewer queries than keys.
    """
    return Survey(tuple(survey_layers(trace, size, hide_special, renormalize)))


def survey_layers(
    trace: Trace, size: int = SIZE, hide_special: bool = False, renormalize: bool = False
) -> Iterator[LayerSurvey]:
    """Each layer as soon as it is swept; never more than a block of rows is held."""
    swept = swept_layers(trace, size, hide_special, renormalize)
    return (surveyed for surveyed, _ in swept)


def swept_layers(
    trace: Trace,
    size: int = SIZE,
    hide_special: bool = False,
    renormalize: bool = False,
    words: bool = False,
) -> Iterator[tuple[LayerSurvey, Float[np.ndarray, "head key"]]]:
    """Survey layers, each with the mean weight on every shown key over the shown real queries.

    With `words`, the means are of words: over a word's queries, then over words; the survey itself
    stays one of tokens.
    """
    special = _special(trace)
    for layer in trace.layers:
        kept = kept_tokens(trace, layer, hide_special=hide_special, words=words)
        sweep = HeadSweep(layer, kept, special, size, renormalize)
        sweep.run(budget_of(layer, BLOCK_BYTES, BLOCK_BYTES_GPU))
        yield _surveyed(sweep), sweep.key_means().cpu().numpy()


def surveys(traces: Sequence[Trace], size: int = SIZE) -> list[Survey]:
    """`survey` of several runs of one device, in fewer calls where they are short.

    Nothing is checked against what ran.
    """
    owners = [trace for trace in traces for _ in trace.layers]
    layers = [layer for trace in traces for layer in trace.layers]
    whole = {id(trace): kept_tokens(trace, trace.layers[0]) for trace in traces}
    found: dict[int, LayerSurvey] = {}
    budget = budget_of(layers[0], BLOCK_BYTES, BLOCK_BYTES_GPU)
    for group in alike(layers, budget):
        n_heads = layers[group[0]].n_heads
        kept = [whole[id(owners[at])] for at in group]
        real = torch.cat([one.real for one in kept]).repeat_interleave(n_heads, dim=0)
        special = torch.cat([_special(owners[at]) for at in group])
        sweep = HeadSweep(
            side_by_side([layers[at] for at in group]),
            replace(kept[0], real=real),
            special.repeat_interleave(n_heads, dim=0),
            size,
            renormalize=False,
        )
        sweep.run(budget)
        surveyed = _surveyed(sweep)
        for place, at in enumerate(group):
            found[at] = surveyed.of(slice(place * n_heads, (place + 1) * n_heads))
    numbers = iter(range(len(layers)))
    return [Survey(tuple(found[next(numbers)] for _ in trace.layers)) for trace in traces]


def _surveyed(sweep: HeadSweep) -> LayerSurvey:
    tops, means = (each.cpu().numpy() for each in sweep.thumbnails())
    columns = sweep.statistics().cpu().numpy()
    return LayerSurvey(tops, means, dict(zip(STATISTICS, columns, strict=True)))


def _special(trace: Trace) -> Bool[Tensor, "1 token"]:
    return torch.tensor([trace.sample.special], device=trace.layers[0].q.device)


# The input to W_O is not part of a map, and a signature belongs to one call.
PARTS = tuple(part for part in TENSORS if part not in ("signature", "put"))
SHARED = ("mask", "bias")  # may have one entry for all heads


def alike(layers: Sequence[LayerTrace], budget: int) -> Iterator[list[int]]:
    """Group layers that can be joined, within `budget` bytes of weights."""
    groups: dict[object, list[int]] = defaultdict(list)
    for number, layer in enumerate(layers):
        groups[_sizes(layer)].append(number)
    for group in groups.values():
        first = layers[group[0]]
        n_bytes = first.n_heads * first.q.shape[1] * first.k.shape[1] * first.wide.itemsize
        step = max(1, budget // max(1, n_bytes))
        yield from (group[start : start + step] for start in range(0, len(group), step))


def side_by_side(layers: Sequence[LayerTrace]) -> LayerTrace:
    """Join the heads of all layers, in order, into one layer, which never ran as one call."""
    if len(layers) == 1:
        return layers[0]
    parts: dict[str, Any] = {
        name: _joined([getattr(one, name) for one in layers], layers, name) for name in PARTS
    }
    return replace(layers[0], **parts, signature=None, put=None, name="")


def _sizes(layer: LayerTrace) -> object:
    """What joined layers must share; heads that share a mask are told apart only by index."""
    parts = [getattr(layer, name) for name in PARTS]
    sizes = [
        None if x is None else (x.shape[name in SHARED :], x.dtype, x.device)
        for name, x in zip(PARTS, parts, strict=True)
    ]
    return layer.n_heads, layer.scale, layer.cross, *sizes


def _joined(parts: list[Tensor | None], layers: Sequence[LayerTrace], name: str) -> Tensor | None:
    held = [part for part in parts if part is not None]
    if not held:
        return None
    if name in SHARED:
        if len(held[0]) == 1 and len({_memory(x) for x in held}) == 1:
            return held[0]
        held = [x.expand(one.n_heads, -1, -1) for x, one in zip(held, layers, strict=True)]
    return torch.cat(held)


def _memory(x: Tensor) -> object:
    return x.data_ptr(), x.shape, x.stride()
