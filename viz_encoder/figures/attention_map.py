"""The map of one head as a heatmap: rows are queries, columns are keys."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.overview import overview
from viz_encoder.figures.theme import add_masked, apply, head_name, plain
from viz_encoder.figures.view import HEAD, LAYER, Control, Place, View
from viz_encoder.figures.weight_colors import COLORED, weight_colors
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import Head

MAX_SIDE = 512
BORDER = "#d97706"
PLACE = "query %{y}<br>key %{x}<br>"


def draw(trace: Trace, *, layer: int = 0, head: Head = 0, scale: str = "head") -> go.Figure:
    """The exact map of one head, the "mean" or "max" over all heads, or the mean of several.

    Over 512 tokens, each cell is the largest weight of a block, and the title says of which size.
    `scale` is that of the colors, one of `weight_colors.COLORED`; the cells and the color bar hold
    the weights themselves in each of them.

    Raises:
        SelectionError: no such layer, head or scale.
    """
    everything = slice(None)
    tile = overview(trace, layer, head, rows=everything, keys=everything, size=MAX_SIDE)
    place = {
        "x": _names(trace.key_tokens or trace.tokens, tile.key_edges),
        "y": _names(trace.tokens, tile.row_edges),
    }
    figure = go.Figure()
    add_masked(figure, tile.values, hovertemplate=PLACE + "masked<extra></extra>", **place)
    figure.add_heatmap(
        z=tile.values,
        **weight_colors(tile.values, scale),
        hovertemplate=PLACE + "weight %{z:.4g}<extra></extra>",
        hoverongaps=False,
        name="weight",
        **place,
    )
    steps = tile.row_step, tile.key_step
    pooled = f", largest of {steps[0]} × {steps[1]}" if max(steps) > 1 else ""
    apply(figure, f"Attention {head_name(layer, head)}{pooled}")
    second, cross = trace.sample.second_text, trace.layers[layer].cross
    if second is not None:
        _add_border(figure, "y", tile.row_edges, second)
        if not cross:
            _add_border(figure, "x", tile.key_edges, second)
    axis = {"type": "category", "showgrid": False, "zeroline": False, "tickfont": {"size": 10}}
    figure.update_xaxes(title="Key (who is looked at)", side="top", tickangle=-60, **axis)
    figure.update_yaxes(title="Query (who looks)", autorange="reversed", **axis)
    return figure


def _add_border(figure: go.Figure, axis: str, edges: np.ndarray, second: int) -> None:
    """A line where text B begins, and the letters of both texts; on "x" or "y", places in cells."""
    end = len(edges) - 1
    border = float(np.interp(second, edges, np.arange(end + 1)))
    other, margin = ("y", 0) if axis == "x" else ("x", 1)
    line = {f"{axis}0": border - 0.5, f"{axis}1": border - 0.5, f"{other}0": 0, f"{other}1": 1}
    style = {"color": BORDER, "width": 1.5, "dash": "dash"}
    figure.add_shape(type="line", **line, **{f"{other}ref": "paper"}, line=style)
    beyond = {"yanchor": "top"} if axis == "x" else {"xanchor": "left", "xshift": 2}
    for letter, middle in (("A", border / 2), ("B", (border + end) / 2)):
        place = {axis: middle - 0.5, other: margin, f"{other}ref": "paper"}
        figure.add_annotation(text=f"<b>{letter}</b>", showarrow=False, **place, **beyond)
    if axis == "y":
        figure.update_traces(colorbar={"x": 1.04}, selector={"name": "weight"})


def _names(tokens: Sequence[str], edges: np.ndarray) -> list[str]:
    """A name for each cell; its number comes first, so that equal tokens stay apart."""
    return [
        f"{start} {plain(tokens[start])}" if stop - start == 1 else f"{start}–{stop - 1}"
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]


VIEW = View(
    "attention_map",
    "Map of one head",
    draw,
    (LAYER, HEAD, Control("scale", "Color scale", tuple(COLORED))),
    place=Place("attention", "map"),
    look="Look along a row: which keys one query attends to. A bright column is a "
    "key that many queries attend to.",
)
