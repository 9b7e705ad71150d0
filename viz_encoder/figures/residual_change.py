"""Contributions of attention and the feed-forward network to the residual, block by block."""

from typing import Annotated

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz_encoder.analyses.residual_change import HiddenChange, ResidualChange, hidden_change
from viz_encoder.analyses.residual_change import residual_change as compute
from viz_encoder.arguments import OneOf
from viz_encoder.figures.theme import (
    BLOCK_AXIS,
    FEW,
    MAX_KEYS,
    WEIGHTS,
    apply,
    caption_below,
    cell_names,
    most_tokens,
    weight_bar,
)
from viz_encoder.figures.view import PagePlace, drawn
from viz_encoder.trace import Trace
from viz_encoder.trace.recorded_parts import WeightSource

MEDIAN, EACH = "median of tokens", "each token"
ShowTokens = Annotated[str, OneOf((MEDIAN, EACH))]
BAR = "Length of the part ÷ length<br>of what it is added to"
COLORS = "#348ba6", "#c2571a", "#7a5ba8"
PRE = (
    "Measured: the length of what attention, and of what the feed-forward network, adds to the "
    "residual stream, divided by the length of what it is added to. "
)
POST = (
    "Measured: the length of what attention, and of what the feed-forward network, adds, divided "
    "by the length of what it is added to: each in its sum before the norm, which then rescales "
    "it. "
)
NOT = (
    "Not measured: directions (parts may cancel each other or the residual), and whether a part "
    "matters to the answer."
)
BARS = " Bars: the middle 80% of tokens. Cosine: hidden states before and after the block."


@drawn(
    "Relative update size (attention, feed-forward)",
    takes=("weights", "trace"),
    needs=("every head",),
    place=PagePlace("vectors", "change", 2),
    look="Compare attention with the feed-forward network, and look for blocks that "
    "change the state most.",
)
def residual_change(
    encoder: WeightSource,
    trace: Trace,
    *,
    show: ShowTokens = "median of tokens",
    hide_special: bool = False,
) -> go.Figure:
    """Share of both parts in every block: medians of the real tokens, or token by token.

    Over 2,048 tokens, each cell is the largest of a block of tokens, and the title says so.

    Args:
        encoder: the model that ran, or `trace.parts` of a recorded one.
        trace: the run.
        show: "median of tokens" or "each token".
        hide_special: whether special tokens such as [CLS] are left out, as padding always is.

    Raises:
        SelectionError: no such choice, a trace of another model, or no token left.
        TraceError: a block that does not come out as it ran.
    """
    found = compute(encoder, trace, hide_special=hide_special)
    said = (PRE if found.pre_norm else POST) + NOT
    if show == EACH:
        return _each(trace, found, said)
    return _medians(found, hidden_change(trace, hide_special=hide_special), said + BARS)


def _medians(found: ResidualChange, moved: HiddenChange, said: str) -> go.Figure:
    figure = make_subplots(rows=2, cols=1, row_heights=[0.6, 0.4], vertical_spacing=0.17)
    lines = (
        ("attention part", found.attention_shares, COLORS[0], 1),
        ("feed-forward part", found.feed_forward_shares, COLORS[1], 1),
        ("cosine before and after", moved.cosines, COLORS[2], 2),
    )
    layers = list(range(len(found.attention)))
    for name, values, color, row in lines:
        middle = np.nanmedian(values, axis=1)
        line = {"x": layers, "y": middle, "name": name, "line": {"color": color}}
        figure.add_scatter(**line, error_y=most_tokens(values, middle), row=row, col=1)
    figure.update_traces(
        mode="lines+markers", hovertemplate="block %{x}: %{y:.4g}<extra>%{fullData.name}</extra>"
    )
    apply(figure, f"Relative update size (median of {len(found.tokens)} tokens)")
    caption_below(figure, said)
    figure.update_xaxes(title=BLOCK_AXIS, dtick=1 if len(layers) <= FEW else None)
    share = "Part ÷ residual"
    figure.update_yaxes(title=share, rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="Cosine", row=2, col=1)
    return figure


def _each(trace: Trace, found: ResidualChange, said: str) -> go.Figure:
    """Two strips, attention above, on one color scale."""
    kept = found.tokens.tolist()
    step = -(-len(kept) // MAX_KEYS)
    starts = np.arange(0, len(kept), step)
    place = cell_names(trace.tokens, starts.tolist(), kept)
    titles = "Attention part", "Feed-forward part"
    figure = make_subplots(rows=2, cols=1, vertical_spacing=0.06)
    for row, values in enumerate((found.attention_shares, found.feed_forward_shares), 1):
        figure.add_heatmap(
            z=np.fmax.reduceat(values, starts, axis=1),
            x=place,
            y=list(range(len(values))),
            coloraxis="coloraxis",
            name=titles[row - 1],
            hovertemplate="%{fullData.name}<br>block %{y}<br>%{x}<br>%{z:.4g}<extra></extra>",
            hoverongaps=False,
            row=row,
            col=1,
        )
    pooled = f", largest of {step} tokens" if step > 1 else ""
    apply(figure, f"Relative update size for each token{pooled}")
    bar = weight_bar(BAR)
    figure.update_layout(coloraxis={"colorscale": WEIGHTS, "cmin": 0, "colorbar": bar})
    axis = {"showgrid": False, "zeroline": False}
    figure.update_xaxes(type="category", tickangle=-60, matches="x", **axis)
    figure.update_xaxes(title="Token", side="top", row=1, col=1)
    figure.update_xaxes(title="Token (as above)", showticklabels=False, row=2, col=1)
    figure.update_yaxes(autorange="reversed", dtick=1 if len(found.attention) <= FEW else None)
    for row, part in enumerate(titles, 1):
        figure.update_yaxes(title=f"{part}<br>{BLOCK_AXIS}", row=row, col=1, **axis)
    caption_below(figure, said)
    return figure
