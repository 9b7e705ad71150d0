"""Rollout: attention multiplied through the layers, the residual stream counted as a half."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import OneOf, Token, public
from viz_encoder.errors import SelectionError
from viz_encoder.model.attention import Buffers
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.head_rows import row_blocks
from viz_encoder.trace.token_selection import query_of

FUSES = ("mean", "max", "min")
Fuse = Annotated[str, OneOf(FUSES)]
BLOCK_BYTES = 64 * 2**20
TINY = torch.finfo(torch.float32).tiny
MAX_SIDE = 512  # most tokens of a whole matrix; more are asked for query by query


@dataclass(frozen=True, eq=False, repr=False)
class Rollout(ArrayResult, main="rows"):
    """One query's rollout; each row sums to 1, and keys masked everywhere stay 0.

    rows[n] is what reaches the query's hidden state after n + 1 layers from each input token.
    It measures how attention could pass information on, not what the model made of it.
    """

    rows: Float[np.ndarray, "layer key"]
    query: int
    fuse: str


@dataclass(frozen=True, eq=False, repr=False)
class RolloutMatrix(ArrayResult, main="shares"):
    """shares[i, j] is what reaches query i after the last layer from input token j; rows sum to 1.

    Keys that were masked everywhere stay 0.
    """

    shares: Float[np.ndarray, "query key"]
    fuse: str


@public
def rollout(trace: Trace, query: Token, fuse: Fuse = "mean") -> Rollout:
    """Residual-aware product of fused attention, last layer to first (Abnar & Zuidema, 2020).

    Each layer counts as (A + I) / 2, A being the heads' mean, maximum or minimum with its rows
    renormalized (arXiv:2005.00928). Only vector × matrix products are taken, block by block, so no
    T × T matrix is ever held.

    Raises:
        SelectionError: no such query or way to fuse, or layers of cross-attention.
    """
    query = query_of(trace, query)
    require_self_attention(trace)
    rows = [_row(trace, query, depth, fuse) for depth in range(1, trace.n_layers + 1)]
    return Rollout(np.stack(rows), query, fuse)


@public
def rollout_matrix(trace: Trace, fuse: Fuse = "mean") -> RolloutMatrix:
    """The rollout of every query after the last layer, for short inputs.

    Row i is `rollout(trace, i, fuse).rows[-1]`: shares that sum to 1, 0 for keys that were masked
    everywhere. It takes n_layers products of T × T matrices.

    Raises:
        SelectionError: over 512 tokens, no such way to fuse, or layers of cross-attention.
    """
    require_self_attention(trace)
    if trace.n_tokens > MAX_SIDE:
        raise SelectionError(
            f"This run has {trace.n_tokens:,} tokens, and a whole rollout takes at most "
            f"{MAX_SIDE}; ask for one query with rollout(trace, query)."
        )
    total = torch.eye(trace.n_tokens, device=trace.layers[0].q.device)
    for layer in trace.layers:
        fused = torch.cat([part for _, part in fused_rows(layer, fuse, 0, trace.n_tokens)])
        total = (total + fused @ total + idle(fused)[:, None] * total) / 2
    return RolloutMatrix(total.cpu().numpy(), fuse)


def require_self_attention(trace: Trace) -> None:
    """Raise unless each query is a key as well."""
    if any(layer.cross for layer in trace.layers):
        raise SelectionError(
            "Rollout needs a key for each query; the keys of this run are other tokens than its "
            "queries, as in cross-attention."
        )


def _row(trace: Trace, query: int, depth: int, fuse: str) -> Float[np.ndarray, " key"]:
    """The query's row after `depth` layers: start at the top and walk down."""
    row = torch.zeros(trace.n_tokens, device=trace.layers[0].q.device)
    row[query] = 1
    for layer in reversed(trace.layers[:depth]):
        row = (row + _through(layer, row, fuse)) / 2
    return row.cpu().numpy()


def _through(layer: LayerTrace, row: Float[Tensor, " query"], fuse: str) -> Float[Tensor, " key"]:
    """row × fused attention; queries that the row does not touch are not even computed."""
    reached = torch.zeros_like(row)
    touched = row.nonzero()[:, 0]
    for rows, fused in fused_rows(layer, fuse, int(touched[0]), int(touched[-1]) + 1):
        reached += row[rows] @ fused
        reached[rows] += row[rows] * idle(fused)
    return reached


def fused_rows(
    layer: LayerTrace, fuse: str, first: int, stop: int
) -> Iterator[tuple[slice, Float[Tensor, "query key"]]]:
    """Rows that sum to 1, some at a time, but for a query that may attend to nothing."""
    n_cells = layer.n_heads * layer.k.shape[1] * (6 if fuse == "min" else 1)
    for rows in row_blocks(stop, n_cells, BLOCK_BYTES, first):
        if fuse == "min":
            yield rows, _least(layer, rows)
            continue
        weights = layer.weights(slice(0, layer.n_heads), rows).float()
        fused = weights.mean(dim=0) if fuse == "mean" else weights.amax(dim=0)
        yield rows, fused / fused.sum(dim=-1, keepdim=True).clamp_min(TINY)


def _least(layer: LayerTrace, rows: slice) -> Float[Tensor, "query key"]:
    """The heads' minimum, renormalized by its logarithm.

    Where heads share no key, all minima of a row may be less than float32, or float64, can hold.
    """
    least = _logarithms(layer, rows).amin(dim=0)
    empty = (least == -torch.inf).all(dim=-1, keepdim=True)
    return least.softmax(dim=-1).masked_fill(empty, 0.0).float()


def _logarithms(layer: LayerTrace, rows: slice) -> Float[Tensor, "head query key"]:
    """ln of the weights, −∞ where the mask forbids a key, in float64 where the device has it."""
    heads = slice(0, layer.n_heads)
    wide = torch.float32 if layer.q.device.type == "mps" else torch.float64
    if layer.maps is not None:
        return layer.weights(heads, rows).to(wide).log()
    exact = replace(layer, q=layer.q.to(wide), k=layer.k.to(wide))
    shape = layer.n_heads, rows.stop - rows.start, layer.k.shape[1]
    scores, weights = exact.q.new_empty(2, *shape)
    exact.weights(heads, rows, into=Buffers(scores, weights))
    empty = (scores == -torch.inf).all(dim=-1, keepdim=True)
    return scores.log_softmax(dim=-1).masked_fill(empty, -torch.inf)


def idle(fused: Float[Tensor, "query key"]) -> Float[Tensor, " query"]:
    """1 for a query that attends to nothing: only the residual stream carries it on, whole."""
    return (fused.sum(dim=-1) == 0).to(fused.dtype)
