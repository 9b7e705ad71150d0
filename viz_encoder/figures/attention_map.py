"""The map of one head as a heatmap: rows are queries, columns are keys."""

import re
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.overview import overview
from viz_encoder.figures.theme import (
    PLACE,
    MapScale,
    add_masked,
    apply,
    head_name,
    plain,
    token_axes,
    weight_colors,
)
from viz_encoder.figures.view import PagePlace, drawn
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import Head
from viz_encoder.trace.token_selection import shown_tokens

MAX_SIDE = 512
BORDER = "#d97706"


@drawn(
    "Map of one head",
    place=PagePlace("explore", "map"),
    look="Look along a row: which keys one query attends to. A column that stands out is a key "
    "that many queries attend to.",
)
def attention_map(
    trace: Trace,
    *,
    layer: int = 0,
    head: Head = 0,
    scale: MapScale = "head",
    hide_special: bool = False,
    renormalize: bool = False,
    words: bool = False,
) -> go.Figure:
    """The exact map of one head, the "mean" or "max" over all heads, or the mean of several.

    Over 512 tokens, each cell is the largest weight of a block, and the title gives its size.

    Args:
        trace: the run.
        layer: counted from 0.
        head: one head, "mean" or "max" over all, or several heads whose mean is taken.
        scale: the color scale, one of `weight_colors.COLORED`; cells and color bar always show the
            weights themselves.
        hide_special: whether special tokens are left out.
        renormalize: whether rows are divided by their sum over the keys that are shown.
        words: whether sub-words are merged, as in `viz_encoder.analyses.overview`.

    Raises:
        SelectionError: no such layer, head or scale.
    """
    everything = slice(None)
    kept = shown_tokens(trace, hide_special=hide_special, words=words)
    tile = overview(
        *(trace, layer, head),
        rows=everything,
        keys=everything,
        size=MAX_SIDE,
        tokens=kept,
        renormalize=renormalize,
    )
    others = [(at,) for at in range(len(trace.key_tokens))]
    place = {
        "x": _names(trace.key_tokens or trace.tokens, others or kept, tile.key_edges),
        "y": _names(trace.tokens, kept, tile.row_edges),
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
    done = {
        "special tokens hidden": hide_special,
        "rows renormalized": renormalize,
        "sub-words merged": words,
    }
    said = "".join(f", {text}" for text, so in done.items() if so)
    apply(figure, f"Attention {head_name(layer, head)}{said}{pooled}")
    second, cross = trace.sample.second_text, trace.layers[layer].cross
    if second is not None:
        second = sum(unit[0] < second for unit in kept)  # among what is shown
        _add_border(figure, "y", tile.row_edges, second)
        if not cross:
            _add_border(figure, "x", tile.key_edges, second)
    token_axes(figure)
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


def _names(tokens: Sequence[str], shown: Sequence[tuple[int, ...]], edges: np.ndarray) -> list[str]:
    """A name for each cell; its number comes first, so that equal tokens stay apart."""
    sides = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return [_name(tokens, shown[start:stop]) for start, stop in sides]


def _name(tokens: Sequence[str], units: Sequence[tuple[int, ...]]) -> str:
    """One token or word by index and name; several by index only."""
    first, last = units[0][0], units[-1][-1]
    number = f"{first}–{last}" if last > first else f"{first}"
    if len(units) > 1:
        return number
    more = (re.sub(r"^##", "", tokens[at]) for at in units[0][1:])
    return f"{number} {plain(tokens[first] + ''.join(more))}"
