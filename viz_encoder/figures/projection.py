"""All tokens of all layers in one plane, colored by depth; one token's path as a line."""

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.projection import CENTERS, Center, Projection
from viz_encoder.analyses.projection import projection as compute
from viz_encoder.arguments import Token
from viz_encoder.figures.theme import (
    FEW,
    STATE_AXIS,
    apply,
    caption_below,
    cell_name,
    plain,
    weight_bar,
)
from viz_encoder.figures.view import PagePlace, drawn
from viz_encoder.shown import after_blocks, quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.token_selection import real_token

MAX_POINTS = 20_000
DEPTH = ["#8ed3b4", "#38aaac", "#366a9f", "#40498e", "#2a1c33"]
WAY = "#e11d48"
CAPTION = (
    "Measured: the hidden states' first two principal components, fitted once to all layers; the "
    "axes say how much of the variance they show. Not measured: everything outside this plane. "
    "Points that are near here may be far apart in the other dimensions."
)


@drawn(
    "PCA of hidden states, all layers",
    place=PagePlace("vectors", "pca", 4),
    look="Follow one token's line from the embeddings to the last block, and see "
    "which points it ends near.",
)
def projection(
    trace: Trace,
    *,
    token: Token | None = None,
    hide_special: bool = False,
    center: Center = "together",
) -> go.Figure:
    """Every real token after every block as a point; padding is left out.

    Over 20,000 points every n-th token is drawn, and the title says so; all of them are fitted.

    Args:
        trace: the run.
        token: whose way through the layers is drawn as a line; none if not given.
        hide_special: whether special tokens such as [CLS] are left out.
        center: "together", or "each layer" on its own mean.

    Raises:
        SelectionError: no such token or choice, padding, or no token left.
    """
    token = None if token is None else real_token(trace, token)
    found = compute(trace, hide_special=hide_special, center=center)
    step = -(-found.points.shape[0] * found.points.shape[1] // MAX_POINTS)
    figure = go.Figure()
    for at, state in enumerate(found.states):
        points = found.points[at, ::step]
        figure.add_scattergl(
            x=points[:, 0],
            y=points[:, 1],
            mode="markers",
            marker={"color": [state] * len(points), "coloraxis": "coloraxis", "size": 7},
            text=[cell_name(trace.tokens, [at]) for at in found.tokens[::step].tolist()],
            hovertemplate=f"%{{text}}<br>{after_blocks(state)}<br>(%{{x:.4g}}, %{{y:.4g}})"
            "<extra></extra>",
            showlegend=False,
        )
    if token is not None:
        _add_way(figure, trace, found, token)
    thinned = f", every {step}th token" if step > 1 else ""
    own = ", each layer on its own mean" if center == CENTERS[1] else ""
    apply(figure, f"PCA of hidden states, all layers{own}{thinned}")
    caption_below(figure, CAPTION)
    bar = weight_bar(STATE_AXIS) | {"dtick": 1 if len(found.states) <= FEW else None}
    deepest = {"cmin": found.states[0], "cmax": found.states[-1], "colorscale": DEPTH}
    figure.update_layout(coloraxis={**deepest, "colorbar": bar})
    figure.update_xaxes(title=_axis(found, 0), zeroline=False)
    figure.update_yaxes(title=_axis(found, 1), zeroline=False)
    return figure


def _add_way(figure: go.Figure, trace: Trace, found: Projection, token: int) -> None:
    (at,) = np.nonzero(found.tokens == token)
    way = found.points[:, at[0]] if len(at) else np.zeros((0, 2))
    figure.add_scattergl(
        x=way[:, 0],
        y=way[:, 1],
        mode="lines+markers",
        line={"color": WAY, "width": 2},
        marker={"size": 5},
        name=f"{token} {quoted(plain(trace.tokens[token]))}" + ("" if len(at) else " (left out)"),
        hoverinfo="skip",
        showlegend=True,
    )


def _axis(found: Projection, number: int) -> str:
    return (
        f"Component {number + 1}: {found.shares[number]:.1%} of the variance (units of the states)"
    )
