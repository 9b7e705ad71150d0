"""Overview: any part of a map at any zoom; exact cells, or the largest of each block."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.errors import SelectionError
from viz_encoder.trace import Trace

BLOCK_BYTES = 64 * 2**20
Head = int | str | tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tile:
    """A part of one map, at most `size` cells a side; each the largest of row_step × key_step.

    Weights are shares of a query's total, 0 … 1; NaN marks cells that the mask forbids altogether.
    """

    values: Float[np.ndarray, "query key"]
    row_step: int
    key_step: int


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
        keys: keys, as numbers among `tokens`.
        size: most cells a side of the answer.
        tokens: the tokens to keep, in order; all where not given. Weights are not renormalized.

    Raises:
        SelectionError: no such layer, head or range.
    """
    kept = torch.arange(trace.n_tokens) if tokens is None else torch.as_tensor(tokens)
    queries, columns = kept[rows], kept[keys]
    if not len(queries) or not len(columns):
        raise SelectionError("That part of the map is empty; choose at least one query and key.")
    row_step, key_step = -(-len(queries) // size), -(-len(columns) // size)
    block = row_step * max(1, BLOCK_BYTES // (4 * trace.n_heads * trace.n_tokens * row_step))
    pooled = [
        _pool(_rows(trace, layer, head, part)[:, columns], row_step, key_step)
        for part in queries.split(block)
    ]
    return Tile(torch.cat(pooled).numpy(), row_step, key_step)


def row(trace: Trace, layer: int, head: Head, query: int) -> Float[np.ndarray, " key"]:
    """One query's weights over all keys, exact; NaN where the mask forbids the key."""
    return _rows(trace, layer, head, torch.tensor([query]))[0].numpy()


def _rows(
    trace: Trace, layer: int, head: Head, queries: torch.Tensor
) -> Float[Tensor, "query key"]:
    """Whole rows of a (fused) map on the CPU, NaN where the mask forbids the key for every head."""
    start, stop = int(queries[0]), int(queries[-1]) + 1
    inside = queries - start
    if isinstance(head, int):
        weights = trace.attention(layer, head, slice(start, stop)).cpu()[inside]
        allowed = _allowed(trace, layer, slice(head, head + 1), slice(start, stop))
    else:
        every = trace.attention(layer, None, slice(start, stop)).cpu()[:, inside]
        chosen = list(head) if isinstance(head, tuple) else list(range(every.shape[0]))
        part = every[chosen]
        weights = part.amax(dim=0) if head == "max" else part.mean(dim=0)
        allowed = _allowed(trace, layer, slice(None), slice(start, stop))
    if allowed is None:
        return weights
    allowed = allowed.expand(stop - start, -1)[inside]
    return weights.masked_fill(~allowed, torch.nan)


def _allowed(
    trace: Trace, layer: int, heads: slice, rows: slice
) -> Bool[Tensor, "#query key"] | None:
    mask = trace.layers[layer].mask
    if mask is None:
        return None
    part = mask[heads] if mask.shape[0] > 1 else mask
    part = part[:, rows] if part.shape[1] > 1 else part
    return part.any(dim=0).cpu()


def _pool(
    weights: Float[Tensor, "query key"], row_step: int, key_step: int
) -> Float[Tensor, "row col"]:
    """The largest of each block; NaN only where the whole block is NaN."""
    if row_step == key_step == 1:
        return weights
    n_rows, n_keys = weights.shape
    tall, wide = -n_rows % row_step, -n_keys % key_step
    filled = weights.nan_to_num(-1.0)
    padded = torch.nn.functional.pad(filled, (0, wide, 0, tall), value=-1.0)
    cut = padded.unflatten(1, (-1, key_step)).amax(dim=2).unflatten(0, (-1, row_step)).amax(dim=1)
    return cut.masked_fill(cut < 0, torch.nan)
