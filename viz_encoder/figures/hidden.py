"""Shared by views of hidden states: token names, the layer axis, captions."""

from collections.abc import Iterable

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz_encoder.figures.theme import caption, plain
from viz_encoder.figures.view import HIDE_SPECIAL as HIDE_SPECIAL
from viz_encoder.figures.view import Control
from viz_encoder.trace import Trace

STATE = Control("layer", "After n blocks (0 = embeddings)", counts="state")
STATE_AXIS = "After n blocks (0 = embeddings)"
BLOCK_AXIS = "Block"
MAX_KEYS = 2048
FEW = 26  # most layers of which each has its number on an axis
AXIS_HEIGHT = 40  # pixels of a bottom axis with its title


def names(trace: Trace, tokens: Iterable[int]) -> list[str]:
    """Number first, so that equal tokens stay apart, then the token as text."""
    return [f"{at} {plain(trace.tokens[at])}" for at in tokens]


def block_names(trace: Trace, tokens: list[int], starts: Iterable[int], step: int) -> list[str]:
    """A name for each block of `step` tokens: its token, or its first and last number."""
    parts = [tokens[start : start + step] for start in starts]
    return [names(trace, part)[0] if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts]


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
