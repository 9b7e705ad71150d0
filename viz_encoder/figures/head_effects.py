"""Effect of removing each head, as a layer × head heatmap."""

from typing import Annotated, Any

import numpy as np
import plotly.graph_objects as go

from viz_encoder.arguments import OneOf
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import effect
from viz_encoder.effects.measures import NAMES
from viz_encoder.figures.theme import apply, head_axes, plain, signed_map
from viz_encoder.figures.view import drawn

USUAL = "usual"
EffectMeasure = Annotated[str, OneOf((USUAL, *NAMES))]
WRITTEN = 24  # most heads of a layer whose answers are written into the cells


@drawn(
    "Effect of removing each head",
    takes=("encoder", "inputs"),
    look="Look for the strongest color: removing that head changes the output most.",
    measured="what changes at the output when one head's output, before W_O, is set to zero and "
    "all layers above run again.",
    not_measured="whether the head does nothing where the effect is small: other heads may do the "
    "same, or take over once it is gone. Effects of single heads do not add up.",
    source="Michel, Levy & Neubig, 2019, arXiv:1905.10650",
)
def head_effects(
    encoder: LoadedEncoder, inputs: Any, *, measure: EffectMeasure = "usual"
) -> go.Figure:
    """The effect of removing each head (Michel et al., 2019, arXiv:1905.10650).

    Args:
        encoder: the model that ran.
        inputs: one text or picture, or what `encoder.read` made of it.
        measure: "pooled", "logit", "masked" or "state"; "usual" is the one that `vz.effect` takes
            by default.

    Raises:
        SelectionError: no such measure, or one that this model or input does not have.
    """
    found = effect(encoder, inputs, measure=None if measure == USUAL else measure)
    values, answers = found.values[0], found.answers[0]
    names = np.array([[plain(str(each)) for each in row] for row in answers], dtype=object)
    written = bool(found.untouched[0][0]) and values.shape[1] <= WRITTEN
    extra = "<br>then “%{text}” %{customdata:.3f}" if found.untouched[0][0] else ""
    figure = signed_map(
        values,
        f"Effect of removing:<br>{plain(found.measures[0])}",
        f"head %{{y}}.%{{x}}<br>effect %{{z:.4g}}{extra}",
        text=names,
        texttemplate="%{text}" if written else None,
        customdata=found.shares[0],
    )
    apply(figure, plain(found.sentence))
    head_axes(figure)
    return figure
