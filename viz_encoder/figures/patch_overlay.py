"""Where one patch or prefix token of a picture looks, laid over the picture."""

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.overview import row
from viz_encoder.errors import SelectionError
from viz_encoder.figures.theme import WEIGHTS, apply, plain, weight_bar
from viz_encoder.figures.view import HEAD, LAYER, QUERY, View
from viz_encoder.trace import Trace

OPACITY = 0.66


def draw(trace: Trace, *, layer: int = 0, head: int | str = 0, query: int = 0) -> go.Figure:
    """The query's weights over the patches; what goes to prefix tokens is in the title.

    Raises:
        SelectionError: the run is of a text, or has no such layer, head or query.
    """
    grid, picture = trace.grid, trace.sample.picture
    if grid is None or picture is None:
        raise SelectionError("This run is of a text; patch_overlay draws pictures.")
    if not 0 <= query < trace.n_tokens:
        raise SelectionError(f"There is no query {query}; choose 0 to {trace.n_tokens - 1}.")
    weights = row(trace, layer, head, query)
    patches = weights[grid.n_prefix :].reshape(grid.n_rows, grid.n_cols)
    tall, wide = picture.shape[0] / grid.n_rows, picture.shape[1] / grid.n_cols
    figure = go.Figure(go.Image(z=picture, hoverinfo="skip"))
    figure.add_heatmap(
        z=patches,
        x=(np.arange(grid.n_cols) + 0.5) * wide - 0.5,
        y=(np.arange(grid.n_rows) + 0.5) * tall - 0.5,
        colorscale=WEIGHTS,
        zmin=0,
        opacity=OPACITY,
        colorbar=weight_bar(),
        hovertemplate="patch row %{y:.0f}, col %{x:.0f} (pixels): %{z:.4g}<extra></extra>",
    )
    prefix = "".join(
        f", {plain(trace.tokens[at])} {weights[at]:.3f}" for at in range(grid.n_prefix)
    )
    apply(figure, f"{layer}.{head}: where “{plain(trace.tokens[query])}” looks{prefix}")
    figure.update_xaxes(title="Picture column (pixels)", showgrid=False)
    figure.update_yaxes(title="Picture row (pixels)", showgrid=False, scaleanchor="x")
    return figure


VIEW = View("patch_overlay", "Where a patch looks", draw, (LAYER, HEAD, QUERY))
