"""Column: who looks at one key; its weight from every query, without ever holding a T × T map."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import Token, public
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.head_rows import row_blocks
from viz_encoder.trace.map_view import Head, heads_of
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
    n_keys, key = ran.k.shape[1], key_of(trace, key, layer)
    for rows in row_blocks(trace.n_tokens, n_keys, ran.q.device):
        yield _part(ran, heads, head, key, rows).cpu().numpy()


def _part(
    layer: LayerTrace, heads: list[int], head: Head, key: int, rows: slice
) -> Float[Tensor, " query"]:
    """One key's weights from some queries, for one head or fused over several."""
    each = torch.stack([layer.weights(slice(h, h + 1), rows)[0, :, key] for h in heads])
    fused = each.amax(dim=0) if head == "max" else each.mean(dim=0)
    if layer.mask is None:
        return fused
    allowed = layer.mask[heads] if layer.mask.shape[0] > 1 else layer.mask
    allowed = allowed[:, rows] if allowed.shape[1] > 1 else allowed
    allowed = allowed[..., key if allowed.shape[2] > 1 else 0].any(dim=0)
    return fused.masked_fill(~allowed, torch.nan)
