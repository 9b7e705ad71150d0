"""Where one patch or prefix token of a picture looks, laid over the picture."""

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.overview import row
from viz_encoder.errors import SelectionError
from viz_encoder.figures.theme import WEIGHTS, add_masked, apply, head_name, plain, weight_bar
from viz_encoder.figures.view import HEAD, LAYER, QUERY, Place, View
from viz_encoder.inputs import Grid
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import Head

OPACITY = 0.66
QUERY_COLOR = "#e11d48"


def draw(trace: Trace, *, layer: int = 0, head: Head = 0, query: int = 0) -> go.Figure:
    """The query's weights over the patches; what goes to prefix tokens is in the title.

    Raises:
        SelectionError: the run is of a text, or has no such layer, head or query.
    """
    grid, picture = trace.grid, trace.sample.picture
    if grid is None or picture is None:
        raise SelectionError("This run read a text; patch_overlay draws pictures.")
    if not 0 <= query < trace.n_tokens:
        raise SelectionError(f"There is no query {query}; choose 0 to {trace.n_tokens - 1}.")
    weights = row(trace, layer, head, query).weights
    patches = weights[grid.n_prefix :].reshape(grid.n_rows, grid.n_cols)
    tall, wide = picture.shape[0] / grid.n_rows, picture.shape[1] / grid.n_cols
    place = {
        "x": (np.arange(grid.n_cols) + 0.5) * wide - 0.5,
        "y": (np.arange(grid.n_rows) + 0.5) * tall - 0.5,
        "opacity": OPACITY,
    }
    figure = go.Figure(go.Image(z=picture, hoverinfo="skip"))
    add_masked(figure, patches, hoverinfo="name", **place)
    figure.add_heatmap(
        z=patches,
        colorscale=WEIGHTS,
        zmin=0,
        colorbar=weight_bar(),
        text=[[f"row {i}, col {j}" for j in range(grid.n_cols)] for i in range(grid.n_rows)],
        hovertemplate="patch %{text}: %{z:.4g}<extra></extra>",
        hoverongaps=False,
        **place,
    )
    if query >= grid.n_prefix:
        _frame(figure, grid, query, tall, wide)
    prefix = "".join(
        f", {plain(trace.tokens[at])} {_share(weights[at])}" for at in range(grid.n_prefix)
    )
    apply(
        figure,
        f"{head_name(layer, head)}: where {quoted(plain(trace.tokens[query]))} looks{prefix}",
    )
    figure.update_xaxes(title="Picture column (pixels)", showgrid=False)
    figure.update_yaxes(title="Picture row (pixels)", showgrid=False, scaleanchor="x")
    return figure


def _frame(figure: go.Figure, grid: Grid, query: int, tall: float, wide: float) -> None:
    """Draw a frame around the patch that looks."""
    at, left = divmod(query - grid.n_prefix, grid.n_cols)
    figure.add_shape(
        type="rect",
        x0=left * wide - 0.5,
        x1=(left + 1) * wide - 0.5,
        y0=at * tall - 0.5,
        y1=(at + 1) * tall - 0.5,
        line={"color": QUERY_COLOR, "width": 2},
    )


def _share(weight: float) -> str:
    return "masked" if np.isnan(weight) else f"{weight:.3f}"


VIEW = View(
    "patch_overlay",
    "Where a patch looks",
    draw,
    (LAYER, HEAD, QUERY),
    needs=("picture",),
    place=Place("attention", "overlay"),
    look="Look at which patches the chosen query attends to.",
)
