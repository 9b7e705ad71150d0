"""Over-smoothing: similarity and length of the hidden states, layer by layer, as lines."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz_encoder.analyses.residual_change import hidden_change
from viz_encoder.analyses.token_similarity import over_smoothing as compute
from viz_encoder.figures.theme import FEW, STATE_AXIS, apply, caption_below, most_tokens
from viz_encoder.figures.view import PagePlace, drawn
from viz_encoder.trace import Trace

COLORS = "#348ba6", "#c2571a", "#7a5ba8", "#40498e"
CAPTION = (
    "Measured, over the real tokens of this input: the mean cosine of two different tokens; "
    "the spread around the mean, ‖states − their mean‖ / ‖states‖, which is 0 if all tokens "
    "are the same; and, with their mean subtracted, the root mean square cosine, which is 1 "
    "if all differences lie on one line. Below, the mean length, with the middle 80% of "
    "tokens. Not measured: whether other inputs share the same direction. A high cosine alone "
    "does not prove over-smoothing."
)


@drawn(
    "Over-smoothing and norms",
    place=PagePlace("vectors", "change", 3),
    look="Watch whether the mean cosine rises toward 1 with depth, while the spread "
    "falls toward 0.",
)
def over_smoothing(trace: Trace, *, hide_special: bool = False) -> go.Figure:
    """Mean cosine, share apart from the mean, centered cosine, and norms of every layer.

    Args:
        trace: the run.
        hide_special: whether special tokens such as [CLS] are left out, as padding always is.

    Raises:
        SelectionError: no such choice, no token left, or a run without hidden states.
    """
    found = compute(trace, hide_special=hide_special)
    norms = hidden_change(trace, hide_special=hide_special).norms
    layers = list(range(len(norms)))
    figure = make_subplots(rows=2, cols=1, row_heights=[0.6, 0.4], vertical_spacing=0.17)
    lines = (
        ("mean cosine", found.cosine, COLORS[0], "solid"),
        ("spread around the mean", found.apart, COLORS[1], "dash"),
        ("cosine, mean subtracted (r.m.s.)", found.centered, COLORS[2], "dot"),
    )
    for name, values, color, dash in lines:
        line = {"color": color, "dash": dash}
        figure.add_scatter(x=layers, y=values, name=name, line=line, row=1, col=1)
    _add_norms(figure, layers, norms)
    figure.update_traces(
        mode="lines+markers",
        hovertemplate="blocks passed: %{x}, %{y:.4g}<extra>%{fullData.name}</extra>",
    )
    apply(figure, f"Over-smoothing ({len(found.tokens)} tokens)")
    caption_below(figure, CAPTION)
    figure.update_xaxes(title=STATE_AXIS, dtick=1 if len(layers) <= FEW else None)
    low = min(0.0, float(np.nanmin(found.cosine, initial=0.0)))
    figure.update_yaxes(title="Similarity", range=[low - 0.05, 1.05], row=1, col=1)
    figure.update_yaxes(title="Length (model's units)", rangemode="tozero", row=2, col=1)
    return figure


def _add_norms(figure: go.Figure, layers: list[int], norms: np.ndarray) -> None:
    mean = norms.mean(axis=1)
    line = {"x": layers, "y": mean, "name": "mean length", "line": {"color": COLORS[3]}}
    figure.add_scatter(**line, error_y=most_tokens(norms, mean), row=2, col=1)
