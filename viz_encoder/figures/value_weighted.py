"""Length of the vector each key adds to each query: a head's map, weighted by its values."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz_encoder.analyses.overview import Tile, overview
from viz_encoder.analyses.value_weighted import value_weighted as compute
from viz_encoder.analyses.value_weighted import value_weighted_sum
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.figures.theme import (
    PLACE,
    WEIGHTS,
    add_masked,
    apply,
    cell_names,
    token_axes,
    weight_bar,
)
from viz_encoder.figures.view import HeadOrSum, drawn
from viz_encoder.trace import Trace
from viz_encoder.trace.head_rows import blocks_of

MAX_SIDE = 512
BLOCK_CELLS = 2**22  # norms before pooling
BAR = "Length of the added vector<br>(units of the hidden states)"


@drawn(
    "Value-weighted attention",
    takes=("encoder", "trace"),
    needs=("every head",),
    measured="the length of weight × value × output projection, what the key adds to the query in "
    "this attention layer.",
    not_measured="its direction, the residual stream, the norms, the feed-forward network and "
    "later layers; a long vector need not matter to the answer.",
    source="Kobayashi et al., 2020, arXiv:2004.10102",
    look="Compare with the attention map: a key with a large weight but a short value adds little.",
)
def value_weighted(
    encoder: LoadedEncoder, trace: Trace, *, layer: int = 0, head: HeadOrSum = 0
) -> go.Figure:
    """‖α·v·W_O‖ of one head, or of the "sum" over all heads (Kobayashi et al., 2020).

    arXiv:2004.10102. Over 512 tokens, each cell is the longest of a block, and the title gives its
    size.

    Raises:
        SelectionError: no such layer or head, a trace of another model, or cross-attention.
    """
    everything, which = slice(None), "mean" if head == "sum" else head
    tile = overview(trace, layer, which, rows=everything, keys=everything, size=MAX_SIDE)
    norms = np.where(np.isnan(tile.values), np.nan, _pooled(encoder, trace, layer, head, tile))
    place = {
        "x": cell_names(trace.tokens, tile.key_edges[:-1].tolist()),
        "y": cell_names(trace.tokens, tile.row_edges[:-1].tolist()),
    }
    figure = go.Figure()
    add_masked(figure, norms, hovertemplate=PLACE + "masked<extra></extra>", **place)
    figure.add_heatmap(
        z=norms,
        colorscale=WEIGHTS,
        zmin=0,
        colorbar=weight_bar(BAR),
        hovertemplate=PLACE + "length %{z:.4g}<extra></extra>",
        hoverongaps=False,
        **place,
    )
    pooled = f", longest of {tile.row_step} × {tile.key_step}" if tile.row_step > 1 else ""
    whose = f"layer {layer}, sum over heads" if head == "sum" else f"{layer}.{head}"
    apply(figure, f"Value-weighted attention, {whose}{pooled}")
    token_axes(figure, key="Key (token that adds)", query="Query (token that receives it)")
    return figure


def _pooled(
    encoder: LoadedEncoder, trace: Trace, layer: int, head: HeadOrSum, tile: Tile
) -> Float[np.ndarray, "row col"]:
    """The longest of each block, some rows at a time, so that no whole map is held."""
    step = tile.row_step * max(1, BLOCK_CELLS // (tile.row_step * trace.n_tokens))
    parts = []
    for rows in blocks_of(trace.n_tokens, step):
        norms = lengths(encoder, trace, layer, head, rows)
        narrow = np.maximum.reduceat(norms, tile.key_edges[:-1], axis=1)
        parts.append(np.maximum.reduceat(narrow, range(0, len(norms), tile.row_step), axis=0))
    return np.concatenate(parts)


def lengths(
    encoder: LoadedEncoder, trace: Trace, layer: int, head: HeadOrSum, rows: slice
) -> Float[np.ndarray, "query key"]:
    """Those of one head, or of the "sum" over all."""
    if head == "sum":
        return value_weighted_sum(encoder, trace, layer, rows).norms
    return compute(encoder, trace, layer, head, rows).norms
