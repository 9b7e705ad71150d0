"""Where a score sat, as a state × token heatmap from the input embeddings to the last block."""

import numpy as np
import plotly.graph_objects as go

from viz_encoder.attribution.attribution import Attribution
from viz_encoder.figures.depth import depth_figure, shown_keys
from viz_encoder.figures.theme import apply, caption, plain
from viz_encoder.figures.view import VIEWS, drawn_share, share_bar, special_columns


@drawn_share(
    "Shares of a score, block by block",
    look="The row of the input says which tokens carried the score; below it, where it sat after "
    "each block.",
)
def token_shares(attribution: Attribution, *, hide_special: bool = False) -> go.Figure:
    """The share of the score at each token, from the input embeddings to the last block.

    Over 512 tokens, each cell is the sum over a block of tokens, and the title says so.

    Args:
        attribution: what `vz.attribute` returned.
        hide_special: whether special tokens are left out of what is shown.
    """
    shown = shown_keys(
        attribution.states,
        special_columns(attribution),
        hide_special=hide_special,
        renormalize=False,
    )
    figure, step = depth_figure(
        shown.rows,
        attribution.names,
        bar=share_bar(attribution),
        key_title="Token",
        first=0,
        numbers=np.asarray(shown.tokens),
        signed=True,
    )
    pooled = f" Each cell is the sum of {step} tokens." if step > 1 else ""
    apply(figure, plain(attribution.sentence) + pooled)
    caption(figure, f"{VIEWS['token_shares'].says}{shown.says}")
    return figure
