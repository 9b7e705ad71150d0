"""Attention of one patch or prefix token, overlaid on the image."""

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.overview import row
from viz_encoder.arguments import Token
from viz_encoder.errors import SelectionError
from viz_encoder.figures.theme import MapScale, add_masked, apply, head_name, plain, weight_colors
from viz_encoder.figures.view import PagePlace, drawn
from viz_encoder.inputs import Grid
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import Head
from viz_encoder.trace.token_selection import query_of, shown_tokens

OPACITY = 0.66
QUERY_COLOR = "#e11d48"


@drawn(
    "Where a patch looks",
    needs=("picture",),
    place=PagePlace("explore", "overlay"),
    look="Look at which patches the chosen query attends to.",
)
def patch_overlay(
    trace: Trace,
    *,
    layer: int = 0,
    head: Head = 0,
    query: Token = 0,
    scale: MapScale = "head",
    hide_special: bool = False,
    renormalize: bool = False,
) -> go.Figure:
    """The query's weights over the patches; what goes to prefix tokens is in the title.

    Args:
        trace: the run.
        layer: counted from 0.
        head: one head, "mean" or "max" over all, or several heads whose mean is taken.
        query: the token that looks; it may be a prefix token even where these are left out.
        scale: the color scale, one of `weight_colors.COLORED`, of the weights on patches.
        hide_special: whether the prefix tokens are left out of the keys.
        renormalize: whether the row is divided by its sum over the keys that are shown.

    Raises:
        SelectionError: the run is of a text, or has no such layer, head, query or scale.
    """
    grid, picture = trace.grid, trace.sample.picture
    if grid is None or picture is None:
        raise SelectionError("This run read a text; patch_overlay draws pictures.")
    query = query_of(trace, query)
    kept = [at for (at,) in shown_tokens(trace, hide_special=hide_special)]
    found = row(trace, layer, head, query, tokens=kept, renormalize=renormalize)
    weights = dict(zip(kept, found.weights, strict=True))
    patches = found.weights[-grid.n_rows * grid.n_cols :].reshape(grid.n_rows, grid.n_cols)
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
        **weight_colors(patches, scale),
        text=[[f"row {i}, col {j}" for j in range(grid.n_cols)] for i in range(grid.n_rows)],
        hovertemplate="patch %{text}: %{z:.4g}<extra></extra>",
        hoverongaps=False,
        **place,
    )
    if query >= grid.n_prefix:
        _frame(figure, grid, query, tall, wide)
    prefix = "".join(
        f", {plain(trace.tokens[at])} {_share(weights[at])}" for at in kept if at < grid.n_prefix
    )
    done = {"special tokens hidden": hide_special, "row renormalized": renormalize}
    said = "".join(f", {text}" for text, so in done.items() if so)
    apply(
        figure,
        f"{head_name(layer, head)}: where {quoted(plain(trace.tokens[query]))} looks{prefix}{said}",
    )
    figure.update_xaxes(title="Picture column (pixels)", showgrid=False)
    figure.update_yaxes(title="Picture row (pixels)", showgrid=False, scaleanchor="x")
    return figure


def _frame(figure: go.Figure, grid: Grid, query: int, tall: float, wide: float) -> None:
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
