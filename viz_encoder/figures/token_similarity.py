"""Similarity of the tokens' hidden states after a block, as a token × token heatmap."""

from typing import Annotated

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.token_similarity import token_similarity as compute
from viz_encoder.arguments import OneOf
from viz_encoder.figures.theme import SIGNED, apply, caption, cell_names, token_axes, weight_bar
from viz_encoder.figures.view import PagePlace, drawn
from viz_encoder.shown import after_blocks
from viz_encoder.trace import Trace

MAX_SIDE = 512
KEPT, SUBTRACTED = "kept", "subtracted"
Mean = Annotated[str, OneOf((KEPT, SUBTRACTED))]
CAPTION = (
    "Measured: whether the hidden states of two tokens point the same way. Not measured: their "
    "lengths, and whether the model treats the tokens alike; a few large dimensions may dominate "
    "the cosine, and tokens of unrelated inputs may be alike too."
)
CENTERED = " The mean of these tokens was subtracted, so some cosines must be negative."


@drawn(
    "Token similarity (cosine)",
    place=PagePlace("vectors", "similarity", 1),
    look="Look for blocks of high cosine: groups of tokens whose states point the same way.",
)
def token_similarity(
    trace: Trace,
    *,
    state: int = 0,
    hide_special: bool = False,
    mean: Mean = "kept",
) -> go.Figure:
    """Cosines between all real tokens; padding is left out.

    Over 512 tokens, each cell is the mean of a block, and the title gives its size.

    Args:
        trace: the run.
        state: after how many blocks; 0 = embeddings.
        hide_special: whether special tokens such as [CLS] are left out.
        mean: of the tokens, "kept" or "subtracted" first, which removes what all tokens share.

    Raises:
        SelectionError: no such state or choice, or no token left.
    """
    centered = mean == SUBTRACTED
    found = compute(trace, state, hide_special=hide_special, centered=centered, size=MAX_SIDE)
    place = cell_names(trace.tokens, found.edges[:-1].tolist(), found.tokens.tolist())
    figure = go.Figure(
        go.Heatmap(
            z=found.cosines,
            x=place,
            y=place,
            colorscale=SIGNED,
            zmin=-1,
            zmax=1,
            colorbar=weight_bar("Cosine (−1 … 1,<br>1 = same direction)"),
            hovertemplate="%{y}<br>%{x}<br>cosine %{z:.4f}<extra></extra>",
            hoverongaps=False,
        )
    )
    step = int(np.diff(found.edges).max())
    pooled = f", mean of {step} × {step}" if step > 1 else ""
    of = ", mean token subtracted" if centered else ""
    apply(figure, f"Token similarity (cosine) {after_blocks(state)}{of}{pooled}")
    caption(figure, CAPTION + (CENTERED if centered else ""))
    token_axes(figure, key="Token", query="Token", automargin=True)
    return figure
