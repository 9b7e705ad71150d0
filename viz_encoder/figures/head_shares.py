"""What each head brought to a score, as a layer × head heatmap."""

import plotly.graph_objects as go

from viz_encoder.attribution.attribution import Attribution
from viz_encoder.figures.theme import apply, head_axes, plain, signed_map
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
    written = "%{z:+.2f}" if shares.shape[1] <= WRITTEN else None
    hover = "head %{y}.%{x}<br>share %{z:+.4g}"
    figure = signed_map(shares, share_bar(attribution), hover, texttemplate=written)
    apply(figure, plain(attribution.sentence))
    head_axes(figure)
    return figure
