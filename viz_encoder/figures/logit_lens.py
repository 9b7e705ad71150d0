"""The model head's predictions after each block, at every token, as a layer × token heatmap."""

from typing import Annotated

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.predictions import WHOLE, LogitLens
from viz_encoder.analyses.predictions import logit_lens as compute
from viz_encoder.arguments import OneOf
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.figures.theme import (
    MAX_KEYS,
    STATE_AXIS,
    WEIGHTS,
    apply,
    caption,
    cell_name,
    plain,
    weight_bar,
)
from viz_encoder.figures.view import PagePlace, drawn
from viz_encoder.trace import Trace
from viz_encoder.trace.token_selection import real_token_numbers

BEST, ANSWER = "most likely label", "the model's answer"
ShowAnswer = Annotated[str, OneOf((BEST, ANSWER))]
WRITTEN = 40  # most tokens whose labels are written into the cells
TOP = 5
CAPTION = (
    "Measured: what the trained head predicts from the hidden states after each block, read "
    "through the final norm if there is one; the last row is the model's answer. Not measured: "
    "what earlier layers hold in a form that this head, trained on the output alone, cannot read. "
    "At tokens that are not masked, a masked-token head may have had little or no training."
)


@drawn(
    "Logit lens: predictions at each layer",
    takes=("encoder", "trace"),
    needs=("answer",),
    place=PagePlace("vectors", "logit_lens", 5),
    look="Look for the first row where the final answer appears, and whether it stays.",
)
def logit_lens(
    encoder: LoadedEncoder,
    trace: Trace,
    *,
    show: ShowAnswer = "most likely label",
    task: str = "",
) -> go.Figure:
    """Probability of the most likely label, or of the model's answer, in every layer.

    Of a run of more than 2,048 real tokens the first 2,048 are drawn, and the title says so.

    Args:
        encoder: the model that ran; its prediction head is used.
        trace: the run.
        show: "most likely label" or "the model's answer", whose color is the probability that each
            layer gives to what the output answers.
        task: which prediction head, if there are several; the first if not given.

    Raises:
        SelectionError: no such choice, no prediction head, or a trace of another model.
    """
    kept = real_token_numbers(trace).tolist()
    found = compute(encoder, trace, task=task, tokens=kept[:MAX_KEYS], n=TOP)
    best = show == BEST
    shares = found.shares[..., 0] if best else found.finals
    labels = found.labels[..., 0] if best else found.labels[-1:, :, 0].repeat(len(shares), axis=0)
    shown = np.array([[plain(str(label)) for label in row] for row in labels], dtype=object)
    places = found.tokens.tolist()
    whole = places == [WHOLE]
    few = shown.shape[1] <= WRITTEN
    figure = go.Figure(
        go.Heatmap(
            z=shares,
            x=["whole input"] if whole else [cell_name(trace.tokens, [at]) for at in places],
            y=list(range(len(shares))),
            text=shown,
            texttemplate="%{text}" if few else None,
            customdata=_lists(found),
            colorscale=WEIGHTS,
            zmin=0,
            zmax=1 if found.unit == "probability" else None,
            colorbar=weight_bar(_bar(found, best)),
            hovertemplate="blocks passed: %{y}<br>%{x}<br>“%{text}” %{z:.4g}"
            "<br><br>%{customdata}<extra></extra>",
        )
    )
    cut = f", first {MAX_KEYS:,} of {len(kept):,} tokens" if len(kept) > MAX_KEYS else ""
    apply(figure, f"Logit lens: predictions at each layer, {show}{'' if whole else cut}")
    caption(figure, CAPTION)
    axis = {"showgrid": False, "zeroline": False}
    where = "Whole input" if whole else "Token"
    figure.update_xaxes(title=where, side="top", tickangle=-60, type="category", **axis)
    figure.update_yaxes(title=STATE_AXIS, autorange="reversed", dtick=1, **axis)
    return figure


def _bar(found: LogitLens, best: bool) -> str:
    what = "most likely label" if best else "output's answer"
    unit = " (0 … 1)" if found.unit == "probability" else ""
    return f"{found.unit.capitalize()} of the<br>{what}{unit}"


def _lists(found: LogitLens) -> np.ndarray:
    """The best labels of each cell, a line each, for the hover."""
    lines = [
        "<br>".join(f"{plain(str(label))} {share:.4g}" for label, share in zip(*cell, strict=True))
        for cell in zip(
            found.labels.reshape(-1, found.labels.shape[-1]),
            found.shares.reshape(-1, found.shares.shape[-1]),
            strict=True,
        )
    ]
    return np.array(lines, dtype=object).reshape(found.finals.shape)
