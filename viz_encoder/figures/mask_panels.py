"""Intended, passed and observed masks of one map, side by side, leaking cells outlined."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool
from plotly.subplots import make_subplots
from torch import Tensor

from viz_encoder.analyses.mask_panels import MaskPanels
from viz_encoder.analyses.mask_panels import mask_panels as compute
from viz_encoder.figures.theme import (
    KEY,
    MASKED,
    PLACE,
    QUERY,
    WEIGHTS,
    apply,
    caption,
    cell_names,
    head_name,
    weight_bar,
)
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import Head
from viz_encoder.trace.token_selection import key_names

ALLOWED, LEAK, ZERO = "#366a9f", "#dc2626", "#ffffff"
MAX_OUTLINED = 2000  # more red squares than that are one red area
CAPTION = (
    "Intended: what the mask should allow (blue: may attend). Passed: what the layer's attention "
    "was given. Observed: the attention weights; exact zeros are white. Outlined: weight on a pair "
    "that is forbidden."
)


def draw(
    trace: Trace,
    intent: Bool[Tensor, "query key"],
    *,
    layer: int = 0,
    head: Head = 0,
    where: Bool[np.ndarray, "layer head"] | None = None,
) -> go.Figure:
    """Three maps on the same axes: what was meant, what the layer got, the weights it gave.

    Over 512 tokens, each cell is a block: whether any pair may attend, and the largest weight.

    Args:
        trace: a run.
        intent: True = this query may attend to this key.
        layer: counted from 0.
        head: one head, "mean" or "max" over all, or several heads whose mean is taken.
        where: the heads that the intent applies to; all if None. In others nothing leaks.

    Raises:
        InputError: the intent is not bool, or not of the run's size.
        SelectionError: no such layer or head.
    """
    found = compute(trace, intent, layer, head, where=where)
    names = cell_names(trace.tokens, found.edges[:-1].tolist())
    keys = cell_names(key_names(trace, layer), found.key_edges[:-1].tolist())
    figure = make_subplots(1, 3, shared_yaxes=True, horizontal_spacing=0.03)
    for column, mask in enumerate((found.intended, found.passed), start=1):
        figure.add_trace(_mask(mask, names, keys), 1, column)
    figure.add_trace(_weights(found, names, keys), 1, 3)
    _outline(figure, found, names, keys)
    apply(figure, f"The mask of {head_name(layer, head)}: intended, passed, observed")
    caption(figure, CAPTION)
    axis = {"type": "category", "showgrid": False, "zeroline": False, "tickfont": {"size": 10}}
    for column, title in enumerate(_titles(found), start=1):
        title = f"<b>{title}</b><br>{KEY}"
        figure.update_xaxes(
            title=title,
            side="top",
            tickangle=-60,
            range=[-0.5, len(keys) - 0.5],
            col=column,
            **axis,
        )
    figure.update_yaxes(range=[len(names) - 0.5, -0.5], **axis)
    figure.update_yaxes(title=QUERY, col=1)
    return figure


def _titles(found: MaskPanels) -> list[str]:
    wrong = int(found.leaking.sum())
    if np.isnan(found.observed).any():
        return ["Intended", "Passed", "Observed: holds NaN, so it shows no mask"]
    return ["Intended", "Passed", f"Observed: {wrong:,} leaking" if wrong else "Observed: no leak"]


def _mask(mask: np.ndarray, names: list[str], keys: list[str]) -> go.Heatmap:
    return go.Heatmap(
        z=mask.astype(np.int8),
        x=keys,
        y=names,
        zmin=0,
        zmax=1,
        colorscale=[[0, MASKED], [1, ALLOWED]],
        showscale=False,
        text=np.where(mask, "may attend", "forbidden"),
        hovertemplate=PLACE + "%{text}<extra></extra>",
    )


def _weights(found: MaskPanels, names: list[str], keys: list[str]) -> go.Heatmap:
    top = float(np.nan_to_num(found.observed).max()) or 1.0
    steps = [[i / (len(WEIGHTS) - 1), color] for i, color in enumerate(WEIGHTS)]
    return go.Heatmap(
        z=found.observed,
        x=keys,
        y=names,
        zmin=0,
        zmax=top,
        colorscale=[[0, ZERO], [1e-9, WEIGHTS[0]], *steps[1:]],
        colorbar=weight_bar(),
        hovertemplate=PLACE + "weight %{z:.4g}<extra></extra>",
    )


def _outline(figure: go.Figure, found: MaskPanels, names: list[str], keys: list[str]) -> None:
    rows, cols = np.nonzero(found.leaking)
    if not len(rows):
        return
    figure.add_trace(
        go.Scatter(
            x=[keys[col] for col in cols[:MAX_OUTLINED]],
            y=[names[row] for row in rows[:MAX_OUTLINED]],
            mode="markers",
            marker={"symbol": "square-open", "size": 10, "color": LEAK, "line": {"width": 2}},
            hoverinfo="skip",
            showlegend=False,
        ),
        1,
        3,
    )
