"""What each link of a head brought to a score, as a query × key heatmap."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz_encoder.arguments import read_index
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.figures.theme import PLACE, apply, cell_names, plain, signed_map, token_axes
from viz_encoder.figures.view import HeadOrSum, drawn_share, share_bar
from viz_encoder.trace.head_rows import blocks_of

MAX_SIDE = 512
BLOCK_CELLS = 2**22  # shares before they are added up


@drawn_share(
    "What each link of a head brought",
    look="Look for the strongest cells, and compare them with the head's attention map.",
)
def link_shares(attribution: Attribution, *, layer: int = 0, head: HeadOrSum = 0) -> go.Figure:
    """Weight × ⟨gradient at the head's output, value⟩ of each link of a head.

    Over 512 tokens, each cell is the sum over a block, and the title gives its size.

    Args:
        attribution: what `vz.attribute` returned, with through="values".
        layer: counted from 0.
        head: one head, or "sum": all heads of the layer together.

    Raises:
        SelectionError: no such layer or head, or shares by AttnLRP, which have no links.
    """
    layer = read_index("layer", layer, len(attribution.heads))
    names = attribution.names
    step = -(-len(names) // MAX_SIDE)
    shares = _summed(attribution, layer, head, step)
    cells = cell_names(names, range(0, len(names), step))
    bar = share_bar(attribution, "Share of the score through this link")
    figure = signed_map(shares, bar, f"{PLACE}share %{{z:+.4g}}", x=cells, y=cells)
    whose = f"all heads of layer {layer}" if head == "sum" else f"head {layer}.{head}"
    pooled = f", sums of {step} × {step}" if step > 1 else ""
    apply(figure, f"What {whose} brought to {plain(attribution.words)}{pooled}")
    token_axes(figure)
    return figure


def _summed(
    attribution: Attribution, layer: int, head: HeadOrSum, step: int
) -> Float[np.ndarray, "row column"]:
    """Sums over blocks, some rows at a time, so that no whole map is held."""
    n_tokens = len(attribution.names)
    n_heads = attribution.heads.shape[1] if head == "sum" else 1
    rows = step * max(1, BLOCK_CELLS // (step * n_tokens * n_heads))
    parts = []
    for at in blocks_of(n_tokens, rows):
        found = attribution.links(layer, None if head == "sum" else head, at)
        shares = found.sum(axis=0) if head == "sum" else found
        narrow = np.add.reduceat(shares, range(0, n_tokens, step), axis=1)
        parts.append(np.add.reduceat(narrow, range(0, len(narrow), step), axis=0))
    return np.concatenate(parts)
