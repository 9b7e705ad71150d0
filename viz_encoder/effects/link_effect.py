"""links: what changes when single links are cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import Progress, Token, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measure import MeasureArguments
from viz_encoder.effects.measures import Measured, measure_of
from viz_encoder.effects.without_links import LinkCut, WithoutLinks
from viz_encoder.result import ArrayResult, Columns


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
    ran = WithoutLinks(encoder, encoder.read(text))
    return effect_of(ran, links, measure, MeasureArguments(answer, other, at, pooling), progress)


def effect_of(
    ran: WithoutLinks,
    links: Sequence[LinkCut],
    measure: Measured | None,
    asked: MeasureArguments,
    progress: Progress | None = None,
) -> LinkEffect:
    """The effect of each link on a run that is kept."""
    read = measure_of(measure, ran.run, asked)
    cut = tuple(map(ran.read, links))
    before, values = ran.effects(cut, read, progress or (lambda _: None))
    return LinkEffect(values, cut, before, read.words)
