"""What reaches one query through the layers, as a layer × key heatmap of its rollout."""

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.rollout import FUSES
from viz_encoder.analyses.rollout import rollout as compute
from viz_encoder.figures.theme import WEIGHTS, apply, plain, weight_bar
from viz_encoder.figures.view import QUERY, Control, View
from viz_encoder.trace import Trace

MAX_KEYS = 2048
BAR = "Rollout<br>(share of the query's total)"


def draw(trace: Trace, *, query: int = 0, fuse: str = "mean") -> go.Figure:
    """One query's attention rollout, layer after layer (Abnar & Zuidema, 2020, arXiv:2005.00928).

    Over 2,048 tokens, each cell is the largest share of a block of keys, and the title says so.

    Raises:
        SelectionError: no such query or way to fuse heads, or layers of cross-attention.
    """
    rows = compute(trace, query, fuse).rows
    starts = np.arange(0, trace.n_tokens, -(-trace.n_tokens // MAX_KEYS))
    figure = go.Figure(
        go.Heatmap(
            z=np.maximum.reduceat(rows, starts, axis=1),
            x=[f"{start} {plain(trace.tokens[start])}" for start in starts.tolist()],
            y=list(range(trace.n_layers)),
            colorscale=WEIGHTS,
            zmin=0,
            colorbar=weight_bar(BAR),
            hovertemplate="after layer %{y}<br>key %{x}<br>%{z:.4g}<extra></extra>",
        )
    )
    pooled = f", largest of {starts[1]} keys" if len(starts) < trace.n_tokens else ""
    apply(figure, f"Rollout of {query} “{plain(trace.tokens[query])}”, {fuse} over heads{pooled}")
    axis = {"showgrid": False, "zeroline": False}
    figure.update_xaxes(
        title="Key (which input token)", side="top", tickangle=-60, type="category", **axis
    )
    figure.update_yaxes(title="After layer", autorange="reversed", dtick=1, **axis)
    return figure


CHOICE = Control("fuse", "Heads fused by", FUSES)
VIEW = View("rollout", "Rollout of one query", draw, (QUERY, CHOICE))
