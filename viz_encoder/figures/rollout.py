"""Attention rollout of one query through the layers, as a layer × key heatmap of its rollout."""

import plotly.graph_objects as go

from viz_encoder.analyses.rollout import Fuse
from viz_encoder.analyses.rollout import rollout as compute
from viz_encoder.arguments import Token
from viz_encoder.figures.depth import depth_figure, shown_keys
from viz_encoder.figures.theme import apply, caption, plain
from viz_encoder.figures.view import VIEWS, drawn
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.token_selection import query_of

BAR = "Rollout<br>(share of the query's total)"


@drawn(
    "Rollout of one query",
    measured="how attention could carry each input token to the query: the heads are combined, "
    "each layer counts half as attention and half as the residual stream, and the layers are "
    "multiplied. Over all tokens, each row sums to 1.",
    not_measured="what the values hold, what the feed-forward networks do, whether heads cancel, "
    "and what the model made of the result; counting half and half is a convention.",
    source="Abnar & Zuidema, 2020, arXiv:2005.00928",
    look="Read the rows from top to bottom: which tokens can have reached the query by each layer.",
)
def rollout(
    trace: Trace,
    *,
    query: Token = 0,
    fuse: Fuse = "mean",
    hide_special: bool = False,
    renormalize: bool = False,
) -> go.Figure:
    """One query's attention rollout, layer after layer (Abnar & Zuidema, 2020, arXiv:2005.00928).

    Over 512 tokens, each cell is the largest share of a block of keys, and the title says so.

    Args:
        trace: the run.
        query: the token that is followed.
        fuse: how heads are combined: "mean", "max" or "min".
        hide_special: whether special tokens are left out of what is shown; the rollout itself
            always runs through all tokens.
        renormalize: whether each row is divided by its sum over the keys that are shown.

    Raises:
        SelectionError: no such query or way to fuse heads, or layers of cross-attention.
    """
    query = query_of(trace, query)
    switches = {"hide_special": hide_special, "renormalize": renormalize}
    shown = shown_keys(compute(trace, query, fuse).rows, trace.sample.special, **switches)
    figure, step = depth_figure(
        shown.rows,
        trace.tokens,
        bar=shown.bar(BAR),
        key_title="Key (which input token)",
        own=shown.place(query),
        numbers=shown.tokens,
    )
    pooled = f", largest of {step} keys" if step > 1 else ""
    apply(
        figure,
        f"Rollout of {query} {quoted(plain(trace.tokens[query]))}, {fuse} over heads{pooled}",
    )
    caption(figure, f"{VIEWS['rollout'].says}{shown.says}")
    return figure
