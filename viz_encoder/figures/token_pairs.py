"""Why two texts are alike: what every pair of tokens adds to the cosine, as a map."""

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.token_pairs import SUMS
from viz_encoder.analyses.token_pairs import token_pairs as compute
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.figures.theme import apply, cell_names, signed_map, token_axes
from viz_encoder.figures.view import drawn
from viz_encoder.shown import after_blocks
from viz_encoder.trace import Trace
from viz_encoder.trace.two_texts import two_texts

MAX_SIDE = 512


@drawn(
    "Token pairs of two texts (parts of the cosine)",
    takes=("encoder", "trace"),
    look="Look for the strongest colors off the rows and columns of [CLS] and [SEP].",
    measured="which pairs of tokens make the two pooled vectors similar; the cells sum to their "
    "cosine.",
    not_measured="input words: these are parts of output vectors, into which the model has mixed "
    "the whole text.",
    labels={"other": "Second text"},
    choices={"method": SUMS},
)
def token_pairs(
    encoder: LoadedEncoder,
    trace: Trace,
    *,
    other: str | Trace = "",
    method: str = "mean",
    state: int = -1,
) -> go.Figure:
    """The cosine of two texts as an exact sum, one cell per pair of tokens.

    Over 512 tokens, each cell is the sum of a block, so that the sum of all stays the cosine.

    Args:
        encoder: the model that ran.
        trace: the run of the first text.
        other: the second text, or its run; without it, the second of a pair, each read alone, or
            the first text itself.
        method: a pooling that adds up tokens: "mean", "cls", "last", "cls_mean", "first_last",
            "received" or "declared".
        state: after how many blocks; 0 = embeddings, -1 = the output.

    Raises:
        SelectionError: no such method or state, one that is no sum over tokens, or a second text
            for a model of pictures.
        InputError: a text that cannot be read.
    """
    both = two_texts(encoder, trace, other)
    found = compute(*both, method, state=state, encoder=encoder)
    edges = [_edges(count) for count in found.parts.shape]
    cells = np.add.reduceat(np.add.reduceat(found.parts, edges[0]), edges[1], axis=1)
    names = [cell_names(run.tokens, at.tolist()) for run, at in zip(both, edges, strict=True)]
    bar, hover = "Part of the cosine<br>(all cells sum to it)", "%{y}<br>%{x}<br>part %{z:.4f}"
    figure = signed_map(cells, bar, hover, x=names[1], y=names[0])
    cosine = f"{found.cosine:.4f}".replace("-", "−")
    called = "the model's own pooling" if found.method == "declared" else found.method
    where = f"{called}, {after_blocks(found.state)}"
    apply(figure, f"Cosine {cosine} = the sum of these token pairs ({where})")
    titles = {"key": "Token of the second text", "query": "Token of the first text"}
    token_axes(figure, **titles, automargin=True)
    return figure


def _edges(count: int) -> np.ndarray:
    return np.arange(0, count, -(-count // MAX_SIDE))
