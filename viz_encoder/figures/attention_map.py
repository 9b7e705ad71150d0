"""The map of one head as a heatmap: rows are queries, columns are keys."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.overview import overview
from viz_encoder.figures.theme import WEIGHTS, apply, plain, weight_bar
from viz_encoder.figures.view import HEAD, LAYER, View
from viz_encoder.trace import Trace

MAX_SIDE = 512


def draw(trace: Trace, *, layer: int = 0, head: int | str = 0) -> go.Figure:
    """The exact map of one head, or the "mean" or "max" over all heads of a layer.

    Over 512 tokens, each cell is the largest weight of a block, and the title says of which size.

    Raises:
        SelectionError: no such layer or head.
    """
    everything = slice(0, trace.n_tokens)
    tile = overview(trace, layer, head, rows=everything, keys=everything, size=MAX_SIDE)
    places = [np.arange(n) * tile.row_step for n in tile.values.shape]
    names = [[plain(trace.tokens[at]) for at in axis] for axis in places]
    figure = go.Figure(
        go.Heatmap(
            z=tile.values,
            x=places[1],
            y=places[0],
            colorscale=WEIGHTS,
            zmin=0,
            colorbar=weight_bar(),
            hovertext=_hover(tile.values, names, places),
            hoverinfo="text",
        )
    )
    label = f"{layer}.{head}" if isinstance(head, int) else f"layer {layer}, {head} over heads"
    pooled = f", largest of {tile.row_step} × {tile.key_step}" if tile.row_step > 1 else ""
    apply(figure, f"Attention {label}{pooled}")
    axis = {"tickmode": "array", "showgrid": False, "zeroline": False, "tickfont": {"size": 10}}
    figure.update_xaxes(
        title="Key (who is looked at)",
        side="top",
        tickangle=-60,
        **axis,
        **_ticks(places[1], names[1]),
    )
    figure.update_yaxes(
        title="Query (who looks)", autorange="reversed", **axis, **_ticks(places[0], names[0])
    )
    return figure


def _ticks(places: np.ndarray, names: Sequence[str]) -> dict[str, object]:
    """At most 60 names; numbers place them, so that equal tokens stay apart."""
    every = max(1, len(places) // 60)
    return {"tickvals": places[::every], "ticktext": names[::every]}


def _hover(
    values: np.ndarray, names: Sequence[Sequence[str]], places: Sequence[np.ndarray]
) -> list[list[str]]:
    return [
        [
            f"query {places[0][i]} “{names[0][i]}”<br>key {places[1][j]} “{names[1][j]}”<br>"
            + ("masked" if np.isnan(value) else f"{value:.4g}")
            for j, value in enumerate(line)
        ]
        for i, line in enumerate(values)
    ]


VIEW = View("attention_map", "Map of one head", draw, (LAYER, HEAD))
