"""What each head brought to a score, as a layer × head heatmap."""

import plotly.graph_objects as go

from viz_encoder.attribution.attribution import Attribution
from viz_encoder.figures.theme import apply, head_axes, plain, signed_colors, weight_bar
from viz_encoder.figures.view import drawn_share, share_bar

WRITTEN = 16  # most heads of a layer whose shares are written into the cells


@drawn_share(
    "What each head brought",
    look="Look for the strongest color: that head brought most of the score.",
)
def head_shares(attribution: Attribution) -> go.Figure:
    """The share that came through each head, its values' biases included.

    Args:
        attribution: what `vz.attribute` returned.
    """
    shares = attribution.heads
    figure = go.Figure(
        go.Heatmap(
            z=shares,
            texttemplate="%{z:+.2f}" if shares.shape[1] <= WRITTEN else None,
            hovertemplate="head %{y}.%{x}<br>share %{z:+.4g}<extra></extra>",
            colorbar=weight_bar(share_bar(attribution)),
            **signed_colors(shares),
        )
    )
    apply(figure, plain(attribution.sentence))
    head_axes(figure)
    return figure
