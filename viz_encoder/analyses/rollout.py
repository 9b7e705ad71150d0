"""Rollout: attention multiplied through the layers, the residual stream counted as a half."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.token_selection import require_a_key_a_query

FUSES = ("mean", "max", "min")
BLOCK_BYTES = 64 * 2**20
MAX_SIDE = 512  # most tokens of a whole matrix; more are asked for query by query


@dataclass(frozen=True, eq=False, repr=False)
class Rollout(ArrayResult, main="rows"):
    """One query's rollout; each row sums to 1, and keys that were masked everywhere stay 0.

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


def rollout(trace: Trace, query: int, fuse: str = "mean") -> Rollout:
    """Residual-aware product of fused attention, last layer to first (Abnar & Zuidema, 2020).

    Each layer counts as (A + I) / 2, A being the heads' mean, maximum or minimum with its rows
    renormalized (arXiv:2005.00928). Only vector × matrix products are taken, block by block, so no
    T × T matrix is ever held.

    Raises:
        SelectionError: no such query or way to fuse, or layers of cross-attention.
    """
    if not 0 <= query < trace.n_tokens:
        raise SelectionError(f"There is no query {query}; choose 0 to {trace.n_tokens - 1}.")
    _check(trace, fuse)
    rows = [_row(trace, query, depth, fuse) for depth in range(1, trace.n_layers + 1)]
    return Rollout(np.stack(rows), query, fuse)


def rollout_matrix(trace: Trace, fuse: str = "mean") -> RolloutMatrix:
    """The rollout of every query after the last layer, for short inputs.

    Row i is `rollout(trace, i, fuse).rows[-1]`: shares that sum to 1, 0 for keys that were masked
    everywhere. It takes n_layers products of T × T matrices.

    Raises:
        SelectionError: over 512 tokens, no such way to fuse, or layers of cross-attention.
    """
    _check(trace, fuse)
    if trace.n_tokens > MAX_SIDE:
        raise SelectionError(
            f"This run has {trace.n_tokens:,} tokens, and a whole rollout takes at most "
            f"{MAX_SIDE}; ask for one query with rollout(trace, query)."
        )
    total = torch.eye(trace.n_tokens, device=trace.layers[0].q.device)
    for layer in trace.layers:
        blocks = layer.blocks(slice(0, layer.n_heads))
        fused = torch.cat([_fused(weights, fuse) for _, weights in blocks]).to(total.dtype)
        total = (total + fused @ total + _idle(fused)[:, None] * total) / 2
    return RolloutMatrix(total.cpu().numpy(), fuse)


def _check(trace: Trace, fuse: str) -> None:
    if fuse not in FUSES:
        raise SelectionError(
            f"Heads cannot be fused by {fuse!r}; choose one of {', '.join(FUSES)}."
        )
    if any(layer.cross for layer in trace.layers):
        raise SelectionError(
            "Rollout is defined for self-attention; this run is of cross-attention."
        )
    require_a_key_a_query(trace)


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
    first, last = int(touched[0]), int(touched[-1]) + 1
    step = max(1, BLOCK_BYTES // (4 * layer.n_heads * layer.k.shape[1]))
    for start in range(first, last, step):
        rows = slice(start, min(start + step, last))
        weights = layer.weights(slice(0, layer.n_heads), rows)
        fused = _fused(weights, fuse).to(row.dtype)
        reached += row[rows] @ fused
        reached[rows] += row[rows] * _idle(fused)
    return reached


def _fused(weights: Float[Tensor, "head query key"], fuse: str) -> Float[Tensor, "query key"]:
    """Rows that sum to 1, but for a query that may attend to nothing."""
    if fuse == "mean":
        fused = weights.mean(dim=0)
    else:
        fused = weights.amax(dim=0) if fuse == "max" else weights.amin(dim=0)
    return fused / fused.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(fused.dtype).tiny)


def _idle(fused: Float[Tensor, "query key"]) -> Float[Tensor, " query"]:
    """1 for a query that attends to nothing: only the residual stream carries it on, whole."""
    return (fused.sum(dim=-1) == 0).to(fused.dtype)


ANALYSES = (rollout, rollout_matrix)
