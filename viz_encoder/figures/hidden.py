"""Shared by views of hidden states: the layer axis, captions."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz_encoder.figures.theme import caption

STATE_AXIS = "After n blocks (0 = embeddings)"
BLOCK_AXIS = "Block"
MAX_KEYS = 2048
FEW = 26  # most layers of which each has its number on an axis
AXIS_HEIGHT = 40  # pixels of a bottom axis with its title


def most_tokens(
    values: Float[np.ndarray, "layer token"], middle: Float[np.ndarray, " layer"]
) -> dict[str, object]:
    """Error bars around the middle, from the tenth to the ninetieth percentile of the tokens."""
    low, high = np.nanpercentile(values, [10, 90], axis=1)
    ends = {"array": np.maximum(high - middle, 0), "arrayminus": np.maximum(middle - low, 0)}
    return {"type": "data", "symmetric": False, "thickness": 1, **ends}


def caption_below(figure: go.Figure, text: str) -> None:
    """A caption under a figure whose bottom axis has a title."""
    caption(figure, text)
    note = figure.layout.annotations[-1]
    note.yshift -= AXIS_HEIGHT
    figure.update_layout(
        margin={"b": figure.layout.margin.b + AXIS_HEIGHT},
        legend={"yanchor": "bottom", "y": 1, "xanchor": "left", "x": 0},
    )
