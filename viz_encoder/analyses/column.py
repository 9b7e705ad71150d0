"""Column: who looks at one key; its weight from every query, without ever holding a T × T map."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import Token, public
from viz_encoder.result import ArrayResult
from viz_encoder.trace import Trace
from viz_encoder.trace.head_rows import row_blocks
from viz_encoder.trace.map_view import Head, heads_of
from viz_encoder.trace.shown_map import ShownMap, Side
from viz_encoder.trace.token_selection import key_of


@dataclass(frozen=True, eq=False, repr=False)
class Column(ArrayResult, main="weights"):
    """weights[i] is what query i gives to one key, 0 … 1; NaN where the mask forbids it."""

    weights: Float[np.ndarray, " query"]
    layer: int
    head: Head
    key: int


@public
def column(trace: Trace, layer: int, head: Head, key: Token) -> Column:
    """The weight that each query gives to one key, exact; NaN where the mask forbids it.

    Each weight is a share of its own query's total, so a column has no fixed sum.

    Args:
        trace: the run.
        layer: counted from 0.
        head: one head, "mean" or "max" over all, or several heads whose mean is taken.
        key: the key, counted from 0; in cross-attention, among the other sequence.

    Raises:
        SelectionError: no such layer, head or key.
    """
    heads_of(trace, layer, head)  # says so if there is no such
    key = key_of(trace, key, layer)
    weights = np.concatenate(list(column_blocks(trace, layer, head, key)))
    return Column(weights, layer, head, key)


def column_blocks(
    trace: Trace, layer: int, head: Head, key: Token
) -> Iterator[Float[np.ndarray, " query"]]:
    """The column in parts, some queries at a time, so that callers can stop early.

    A weight needs its whole row, for the softmax divides by all of it; so whole rows of one head
    are computed, block by block, and only the key's own cell of each is kept.

    Raises:
        SelectionError: as of `column`.
    """
    heads, ran = heads_of(trace, layer, head), trace.layers[layer]
    shown = ShownMap(ran, heads, head, Side.of([(key_of(trace, key, layer),)]))
    for rows in row_blocks(trace.n_tokens, ran.k.shape[1], ran.q.device):
        queries = Side.of([(at,) for at in range(rows.start, rows.stop)])
        yield shown.rows(queries)[:, 0].numpy()
