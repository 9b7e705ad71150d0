"""links: what changes when single links are cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import Progress, Token, public, read_index
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measure import MeasureArguments, Outputs
from viz_encoder.effects.measures import Measured, measure_of, require_number
from viz_encoder.effects.rerun import BATCH_TOKENS, Replaced, Rerun
from viz_encoder.result import ArrayResult, Columns
from viz_encoder.trace import Trace
from viz_encoder.trace.capture import captured

LinkCut = tuple[int, int | None, int, int]


@dataclass(frozen=True, eq=False, repr=False)
class LinkEffect(ArrayResult, main="values"):
    """The effect of cutting each link alone. np.asarray(effect) gives the values.

    values: the measure with the link cut, minus that of the untouched run; NaN where the query may
        attend to nothing else, so that nothing would be left of its row.
    links: as (layer, head, query, key); head None is all heads of the layer.
    """

    values: Float[np.ndarray, " link"]
    links: tuple[LinkCut, ...]
    before: float
    measure: str

    def columns(self) -> Columns:
        """One line per link."""
        named = zip(("layer", "head", "query", "key"), zip(*self.links, strict=True), strict=True)
        return {name: list(each) for name, each in named} | {"effect": self.values.tolist()}


@public
def links(
    encoder: LoadedEncoder,
    text: Any,
    links: Sequence[tuple[int, int | None, int, int]],
    *,
    measure: Measured | None = None,
    answer: str | None = None,
    other: str | None = None,
    at: Token | None = None,
    pooling: str | None = None,
    progress: Progress | None = None,
) -> LinkEffect:
    """Cut each link on its own, run the layers above again, and measure what changed.

    A cut link has weight 0 and the other weights of its row are divided by what is left, as a mask
    would have it. Nothing is approximated.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        text: one input.
        links: as (layer, head, query, key), counted from 0; head None cuts it in all heads of
            the layer.
        measure, answer, other, at, pooling, progress: as in `effect`.

    Raises:
        SelectionError: no such layer, head, token, measure or answer.
        InputError: inputs that this encoder cannot read, or a measure that is not a number.
    """
    inputs = encoder.read(text)
    run = Rerun(encoder, inputs)
    asked = measure_of(measure, run, MeasureArguments(answer, other, at, pooling))
    before = require_number(float(asked.read(run.output)[0]))
    rows = _Rows(run, captured(encoder, inputs)[0], [_read(each, run) for each in links])
    values = np.full(len(rows.cut), np.nan)
    n_done = 0
    for places, outputs in rows.without():
        values[places] = np.where(rows.alone[places], np.nan, asked.read(outputs) - before)
        n_done += len(places)
        if progress is not None:
            progress(n_done / len(values))
    return LinkEffect(values, tuple(rows.cut), before, asked.words)


def _read(link: LinkCut, run: Rerun) -> LinkCut:
    layer, head, query, key = link
    n_tokens = len(run.sample.tokens)
    return (
        read_index("layer", layer, len(run.given)),
        None if head is None else read_index("head", head, run.model.config.n_heads),
        read_index("token", query, n_tokens),
        read_index("token", key, n_tokens),
    )


class _Rows:
    """The rows of one run, each with one link less."""

    def __init__(self, run: Rerun, trace: Trace, cut: list[LinkCut]) -> None:
        self.run, self.trace, self.cut = run, trace, cut
        self.alone = np.zeros(len(cut), dtype=bool)  # where nothing else may be attended to

    def without(self) -> Iterator[tuple[list[int], Outputs]]:
        """The numbers of some links of one layer, and the outputs with each of them cut."""
        order = sorted(range(len(self.cut)), key=lambda at: self.cut[at][0])
        step = max(1, BATCH_TOKENS // len(self.run.sample.tokens))
        for layer, numbers in groupby(order, key=lambda at: self.cut[at][0]):
            every = list(numbers)
            for start in range(0, len(every), step):
                places = every[start : start + step]
                (outputs,) = self.run.edited({layer: self._edit(layer, places)}, len(places))
                yield places, outputs

    def _edit(self, layer: int, places: list[int]) -> Replaced:
        said = self.run.said[layer]
        value = said.expand(len(places), -1, -1, -1).clone()
        where = torch.zeros(value.shape[:2], dtype=torch.bool, device=said.device)
        for variant, at in enumerate(places):
            _, head, query, key = self.cut[at]
            heads = slice(0, said.shape[1]) if head is None else slice(head, head + 1)
            row, rest = self._row(layer, heads, query, key)
            self.alone[at] = bool((rest == 0).all())
            value[variant, heads, query] = row.nan_to_num(0.0).to(value)
            where[variant, heads] = True
        return Replaced(where, value)

    def _row(
        self, layer: int, heads: slice, query: int, key: int
    ) -> tuple[Float[Tensor, "head d_value"], Float[Tensor, "head 1"]]:
        """The query's output without that key, and the weight that was left for it."""
        ran = self.trace.layers[layer]
        weights = ran.weights(heads, slice(query, query + 1))[:, 0].float()
        weights[:, key] = 0.0
        rest = weights.sum(dim=-1, keepdim=True)
        values = ran.values_of(heads).float()
        return ((weights / rest)[:, None] @ values)[:, 0], rest
