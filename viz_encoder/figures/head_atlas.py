"""The atlas: all layers and heads in one picture, each a small map that keeps single spikes."""

from typing import Annotated

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.survey import survey
from viz_encoder.arguments import OneOf
from viz_encoder.figures.theme import add_masked, apply, weight_colors
from viz_encoder.figures.view import drawn
from viz_encoder.trace import Trace

SIZE = 32
GAP = 1
COLORED = ("all", "percentile", "sqrt", "shared")  # one scale for all heads
AtlasScale = Annotated[str, OneOf(COLORED)]


@drawn(
    "Atlas of all heads",
    look="Look for heads unlike their neighbors: diagonals (nearby tokens), single columns (one "
    "key for all), blocks (a part of the text).",
)
def head_atlas(
    trace: Trace,
    *,
    scale: AtlasScale = "all",
    hide_special: bool = False,
    renormalize: bool = False,
) -> go.Figure:
    """Thumbnails of at most 32 × 32 cells, each cell the largest weight of its block.

    Args:
        trace: the run.
        scale: the color scale of all heads: "all" (linear, up to the largest weight of all),
            "percentile", "sqrt" or "shared", as in `figures.attention_map`.
        hide_special, renormalize: as in `viz_encoder.analyses.survey`.

    Raises:
        SelectionError: no such scale.
    """
    layers = survey(trace, SIZE, hide_special=hide_special, renormalize=renormalize)
    rows, cols = layers[0].thumbnails_max.shape[1:]
    tall, wide = rows + GAP, cols + GAP
    n_heads = max(len(layer.thumbnails_max) for layer in layers)
    stitched = np.full((len(layers) * tall, n_heads * wide), np.nan, dtype=np.float32)
    masked = np.zeros_like(stitched)  # NaN where a cell is masked, and not merely a gap
    for number, layer in enumerate(layers):
        for head, thumbnail in enumerate(layer.thumbnails_max):
            at = slice(number * tall, number * tall + rows), slice(head * wide, head * wide + cols)
            stitched[at] = masked[at] = thumbnail
    figure = go.Figure()
    add_masked(figure, masked, hoverinfo="skip")
    figure.add_heatmap(z=stitched, **weight_colors(stitched, scale), hoverinfo="skip")
    done = {"special tokens hidden": hide_special, "rows renormalized": renormalize}
    said = "".join(f", {text}" for text, so in done.items() if so)
    apply(figure, f"All layers and heads{said}; each cell is the largest weight of its block")
    plain_axis = {"tickmode": "array", "showgrid": False, "zeroline": False}
    figure.update_xaxes(
        title="Head",
        side="top",
        tickvals=[head * wide + (cols - 1) / 2 for head in range(n_heads)],
        ticktext=list(range(n_heads)),
        **plain_axis,
    )
    figure.update_yaxes(
        title="Layer",
        autorange="reversed",
        tickvals=[number * tall + (rows - 1) / 2 for number in range(len(layers))],
        ticktext=list(range(len(layers))),
        **plain_axis,
    )
    return figure
