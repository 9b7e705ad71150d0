"""Length of the vector each key adds to one query in each layer, as a layer × key heatmap."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz_encoder.analyses.overview import row
from viz_encoder.arguments import Token
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.figures.depth import depth_figure, shown_keys
from viz_encoder.figures.theme import apply, caption, plain
from viz_encoder.figures.value_weighted import BAR, lengths
from viz_encoder.figures.view import VIEWS, HeadOrSum, drawn
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.token_selection import query_of


@drawn(
    "Value-weighted attention of one query, layer by layer",
    takes=("encoder", "trace"),
    needs=("every head",),
    measured="in each layer by itself, the length of weight × value × output projection: how long "
    "a vector the key's place adds to the query there.",
    not_measured="what earlier layers had already brought to the key's place, the vector's "
    "direction, the residual stream, the norms and the feed-forward networks; layers are not "
    "multiplied, and a long vector need not matter to the answer.",
    source="Kobayashi et al., 2020, arXiv:2004.10102",
    look="Look for layers in which one key adds most of what the query takes in.",
)
def value_weighted_depth(
    encoder: LoadedEncoder,
    trace: Trace,
    *,
    query: Token = 0,
    head: HeadOrSum = "sum",
    hide_special: bool = False,
    renormalize: bool = False,
) -> go.Figure:
    """‖α·v·W_O‖ to one query, of the "sum" over all heads or of one (Kobayashi et al., 2020).

    arXiv:2004.10102. Over 512 tokens, each cell is the longest of a block of keys, and the title
    says so.

    Args:
        encoder: the model that ran.
        trace: the run.
        query: the token that receives.
        head: one head of each layer, or their "sum".
        hide_special: whether special tokens are left out of what is shown.
        renormalize: whether each row is divided by its sum over the keys that are shown.

    Raises:
        SelectionError: no such query or head, a trace of another model, or cross-attention.
    """
    query = query_of(trace, query)
    rows = np.stack([_lengths(encoder, trace, at, head, query) for at in range(trace.n_layers)])
    switches = {"hide_special": hide_special, "renormalize": renormalize}
    shown = shown_keys(rows, trace.sample.special, **switches)
    figure, step = depth_figure(
        shown.rows,
        trace.tokens,
        numbers=shown.tokens,
        bar=shown.bar(BAR),
        key_title="Key (token whose position adds)",
        layer_title="Layer",
        first=0,
    )
    pooled = f", longest of {step} keys" if step > 1 else ""
    whose = "sum over heads" if head == "sum" else f"head {head} of each layer"
    name = f"{query} {quoted(plain(trace.tokens[query]))}"
    apply(figure, f"Value-weighted attention to {name}, {whose}{pooled}")
    caption(figure, f"{VIEWS['value_weighted_depth'].says}{shown.says}")
    return figure


def _lengths(
    encoder: LoadedEncoder, trace: Trace, layer: int, head: HeadOrSum, query: int
) -> Float[np.ndarray, " key"]:
    """One layer's lengths; NaN where the mask forbids the key."""
    masked = np.isnan(row(trace, layer, "mean" if head == "sum" else head, query).weights)
    norms = lengths(encoder, trace, layer, head, slice(query, query + 1))[0]
    return np.where(masked, np.float32(np.nan), norms)
