"""Which words of two texts met in the dot product of their vectors, as a token × token heatmap."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz_encoder.attribution.pair_shares import PairShares, attribute_pair
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.figures.theme import apply, cell_names, plain, signed_map, token_axes
from viz_encoder.figures.view import drawn

BIASES = "biases"


@drawn(
    "Which words of two texts met",
    takes=("encoder", "inputs"),
    measured="an exact split of the dot product of the two pooled vectors, with the attention "
    "weights, norm divisors and activation factors of both runs held as they were. Shares are "
    "signed and, with the row and the column of biases, add up to it.",
    not_measured="what would happen without a word, and whether the two texts mean the same.",
    source="after Eberle et al., 2022, arXiv:2003.05009",
    look="Look for the strongest cells: these two words make the two vectors alike, or unlike.",
)
def pair_shares(encoder: LoadedEncoder, inputs: Any, *, other: Any = "") -> go.Figure:
    """The share of each pair of words in the dot product of two texts' pooled vectors.

    Args:
        encoder: the model that ran.
        inputs: one text, or what `encoder.read` made of it.
        other: another text; if empty, the same one, so that the square of its length is split.

    Raises:
        TooLong: a text of over 256 tokens.
    """
    found = attribute_pair(encoder, inputs, inputs if _is_empty(other) else other)
    every = [cell_names(trace.tokens, range(trace.n_tokens)) for trace in found.traces]
    rows, columns = ([*names, BIASES] for names in every)
    hover = "%{y}<br>%{x}<br>share %{z:+.4g}"
    cells, bar = _with_biases(found), "Share of the dot product"
    figure = signed_map(cells, bar, hover, x=columns, y=rows)
    apply(figure, plain(found.sentence))
    token_axes(figure, key="Other text", query="This text")
    return figure


def _is_empty(other: Any) -> bool:
    return isinstance(other, str) and not other


def _with_biases(found: PairShares) -> np.ndarray:
    return np.block([
        [found.shares, found.first[:, None]],
        [found.second[None, :], np.array([[found.biases]])],
    ])  # fmt: skip
