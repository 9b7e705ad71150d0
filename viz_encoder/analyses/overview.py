"""Overview: any part of a map at any zoom; exact cells, or the largest of each block."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.errors import SelectionError
from viz_encoder.trace import LayerTrace, Trace

BLOCK_BYTES = 2**20  # of one head's rows at a time, few enough to stay in the processor's cache
BLOCK_BYTES_GPU = 2**26
Head = int | str | tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tile:
    """A part of one map, at most `size` cells a side; each the largest of row_step × key_step.

    Weights are shares of a query's total, 0 … 1; NaN marks cells that the mask forbids altogether.
    Cell (i, j) holds the queries row_edges[i] … row_edges[i + 1] - 1, and the keys likewise, by
    their numbers among the tokens that were kept.
    """

    values: Float[np.ndarray, "row col"]
    row_step: int
    key_step: int
    row_edges: Int[np.ndarray, " row_edge"]
    key_edges: Int[np.ndarray, " col_edge"]


def overview(
    trace: Trace,
    layer: int,
    head: Head,
    *,
    rows: slice,
    keys: slice,
    size: int = 512,
    tokens: Sequence[int] | None = None,
) -> Tile:
    """The part rows × keys of a map, pooled by max only where it has more than size cells a side.

    Args:
        trace: the run.
        layer: counted from 0.
        head: one head, "mean" or "max" over all, or several heads whose mean is taken.
        rows: queries, as numbers among `tokens`.
        keys: keys, as numbers among `tokens`; in cross-attention, among the other sequence.
        size: most cells a side of the answer.
        tokens: the tokens to keep, in order; all where not given. Weights are not renormalized.

    Raises:
        SelectionError: no such layer, head or range.
    """
    heads, ran = _heads(trace, layer, head), trace.layers[layer]
    n_keys = ran.k.shape[1]
    kept = torch.arange(trace.n_tokens) if tokens is None else torch.as_tensor(tokens)
    kept_keys = torch.arange(n_keys) if ran.cross else kept
    queries, columns = kept[rows], kept_keys[keys]
    if not len(queries) or not len(columns):
        raise SelectionError("That part of the map is empty; choose at least one query and key.")
    row_step, key_step = -(-len(queries) // size), -(-len(columns) // size)
    budget = BLOCK_BYTES if ran.q.device.type == "cpu" else BLOCK_BYTES_GPU
    block = row_step * max(1, budget // (4 * n_keys * row_step))
    pooled = [
        _pool(_rows(ran, heads, head, part)[:, columns], row_step, key_step)
        for part in queries.split(block)
    ]
    row_edges = _edges(rows.indices(len(kept))[0], len(queries), row_step)
    key_edges = _edges(keys.indices(len(kept_keys))[0], len(columns), key_step)
    return Tile(torch.cat(pooled).numpy(), row_step, key_step, row_edges, key_edges)


def row(trace: Trace, layer: int, head: Head, query: int) -> Float[np.ndarray, " key"]:
    """One query's weights over all keys, exact; NaN where the mask forbids the key."""
    heads = _heads(trace, layer, head)
    return _rows(trace.layers[layer], heads, head, torch.tensor([query]))[0].numpy()


def _heads(trace: Trace, layer: int, head: Head) -> list[int]:
    """The heads that are meant, one or several, each of them there."""
    if isinstance(head, str) and head in ("mean", "max"):
        nothing = trace.attention(layer, rows=slice(0, 0))  # says so if there is no such layer
        return list(range(len(nothing)))
    chosen = list(head) if isinstance(head, tuple) else [head]
    if not chosen or any(isinstance(number, str) for number in chosen):
        raise SelectionError(f'There is no head {head!r}; give a number, "mean" or "max".')
    for number in chosen:
        trace.attention(layer, int(number), slice(0, 0))
    return [int(number) for number in chosen]


def _rows(
    layer: LayerTrace, heads: list[int], head: Head, queries: Tensor
) -> Float[Tensor, "query key"]:
    """Whole rows of a (fused) map on the CPU, NaN where the mask forbids the key for every head."""
    # One head at a time: a block of all of them at once would be n_heads as large.
    each = (layer.weights(slice(number, number + 1), queries)[0] for number in heads)
    total = next(each)
    for weights in each:
        total = total.maximum(weights) if head == "max" else total + weights
    fused = (total if head == "max" or len(heads) == 1 else total / len(heads)).cpu()
    allowed = _allowed(layer, heads, queries)
    return fused if allowed is None else fused.masked_fill(~allowed, torch.nan)


def _allowed(
    layer: LayerTrace, heads: list[int], queries: Tensor
) -> Bool[Tensor, "#query key"] | None:
    mask = layer.mask
    if mask is None:
        return None
    part = mask[heads] if mask.shape[0] > 1 else mask
    part = part[:, queries] if part.shape[1] > 1 else part
    return part.any(dim=0).expand(-1, layer.k.shape[1]).cpu()


def _pool(
    weights: Float[Tensor, "query key"], row_step: int, key_step: int
) -> Float[Tensor, "row col"]:
    """The largest of each block; NaN only where the whole block is NaN."""
    if row_step == key_step == 1:
        return weights
    fewer = weights.nan_to_num(-1.0)  # below any weight
    for axis, step in ((0, row_step), (1, key_step)):  # rows first: they lie apart, so go fast
        missing = -fewer.shape[axis] % step
        padding = (0, 0, 0, missing) if axis == 0 else (0, missing)
        padded = F.pad(fewer, padding, value=-1.0) if missing else fewer
        fewer = padded.unflatten(axis, (-1, step)).amax(dim=axis + 1)
    return fewer.masked_fill(fewer < 0, torch.nan)


def _edges(start: int, count: int, step: int) -> Int[np.ndarray, " edge"]:
    """Where each cell begins, and where the last one ends."""
    return start + np.minimum(np.arange(0, count + step, step), count)
