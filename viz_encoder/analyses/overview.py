"""Overview: any part of a map at any zoom; exact cells, or the largest of each block."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.arguments import AS_IT_IS, Count, Token, public, read_index, said
from viz_encoder.arguments.kinds import MISS, whole
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import Head, MapView, heads_of
from viz_encoder.trace.shown_map import ShownMap, Side
from viz_encoder.trace.token_selection import query_of

# Tokens in order; several in one entry are merged. They are thousands, and checked all at once.
ShownTokens = Annotated[Sequence[int | Sequence[int]], AS_IT_IS]


@dataclass(frozen=True, eq=False, repr=False)
class Tile(ArrayResult, main="values"):
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
    row_tops: Float[np.ndarray, " row"]  # a row's largest weight on all kept keys, in sight or not
    total: float  # the weight of all pairs in this part, before pooling
    empty: int  # queries of this part that have no weight on any kept key


@dataclass(frozen=True, eq=False, repr=False)
class Row(ArrayResult, main="weights"):
    """weights[j] is what one query, or the mean of several, gives to kept key j, 0 … 1.

    NaN where the mask forbids the key.
    """

    weights: Float[np.ndarray, " key"]
    layer: int
    head: Head
    query: int | Sequence[int]


@public
def overview(
    trace: Trace,
    layer: int,
    head: Head,
    *,
    rows: slice,
    keys: slice,
    size: Count = 512,
    tokens: ShownTokens | None = None,
    renormalize: bool = False,
) -> Tile:
    """The part rows × keys of a map, pooled by max only where it has more than size cells a side.

    Heads are fused first, then rows are renormalized, then tokens are merged: the mean over a
    word's queries of the sum over a word's keys (Clark et al., 2019, arXiv:1906.04341), so that
    rows that summed to 1 still do.

    Args:
        trace: the run.
        layer: counted from 0.
        head: one head, "mean" or "max" over all, or several heads whose mean is taken.
        rows: queries, as numbers among `tokens`.
        keys: keys, as numbers among `tokens`; in cross-attention, among the other sequence.
        size: most cells a side of the answer.
        tokens: the tokens to keep, in order, several in one entry to be merged; all where not
            given. See `shown_tokens`.
        renormalize: divide each query's weights by their sum over the kept keys; a query that has
            nothing on them keeps its zeros.

    Raises:
        SelectionError: no such layer, head or range.
    """
    every = _map(trace, layer, head, tokens, renormalize)
    queries = _side(trace.n_tokens, tokens)
    (first_row, n_rows), (first_key, n_keys) = _range(rows, queries), _range(keys, every.keys)
    if not n_rows or not n_keys:
        raise SelectionError("That part of the map is empty; choose at least one query and key.")
    row_step, key_step = -(-n_rows // size), -(-n_keys // size)
    pooled, tops, total, empty = [], [], 0.0, 0
    block = row_step * max(1, every.fits // row_step)
    for start in range(first_row, first_row + n_rows, block):
        stop = min(start + block, first_row + n_rows)
        whole = every.rows(queries.part(start, stop))
        part = whole[:, first_key : first_key + n_keys]
        top = whole.nan_to_num(0.0).amax(dim=1, keepdim=True)
        total += float(part.nansum())
        empty += int((top == 0).sum())
        tops.append(_pool(top, row_step, 1)[:, 0])
        pooled.append(_pool(part, row_step, key_step))
    return Tile(
        torch.cat(pooled).numpy(),
        row_step,
        key_step,
        _edges(first_row, n_rows, row_step),
        _edges(first_key, n_keys, key_step),
        torch.cat(tops).numpy(),
        total,
        empty,
    )


def shown_part(trace: Trace, view: MapView, rows: slice, keys: slice, size: int) -> Tile:
    """The part rows × keys of the map of a view, numbered among the tokens that it keeps."""
    return overview(
        *(trace, view.layer, view.head),
        rows=rows,
        keys=keys,
        size=size,
        tokens=view.kept(trace) if view.hide_special or view.words else None,
        renormalize=view.renormalize,
    )


@public
def row(
    trace: Trace,
    layer: int,
    head: Head,
    query: Token | Sequence[Token],
    *,
    tokens: ShownTokens | None = None,
    renormalize: bool = False,
) -> Row:
    """Exact weights of one query over all kept keys; NaN where the mask forbids the key.

    Several queries are merged into their mean; `tokens` and `renormalize` are those of `overview`.

    Raises:
        SelectionError: no such layer, head or query, or tokens= where the keys are others than the
            queries.
    """
    if tokens is not None and trace.layers[read_index("layer", layer, trace.n_layers)].cross:
        raise SelectionError(
            "The keys of this run are other tokens than its queries, so tokens= chooses none of "
            "them; leave it out, and pick from the row."
        )
    every = _map(trace, layer, head, tokens, renormalize)
    several = query if isinstance(query, tuple) else (query,)
    if not several:
        raise SelectionError("query is empty; give the token that looks, or several.")
    merged = tuple(query_of(trace, each) for each in several)
    weights = every.rows(_side(trace.n_tokens, [merged]))[0].numpy()
    return Row(weights, layer, head, merged if several is query else merged[0])


def _map(
    trace: Trace, layer: int, head: Head, tokens: ShownTokens | None, renormalize: bool
) -> ShownMap:
    heads, ran = heads_of(trace, layer, head), trace.layers[layer]
    keys = _side(ran.k.shape[1], None if ran.cross else tokens)
    return ShownMap(ran, heads, head, keys, renormalize)


def _side(count: int, tokens: ShownTokens | None) -> Side:
    if tokens is None:
        return Side(torch.arange(count), torch.arange(count + 1))
    groups, flat = _groups(tokens)
    for place in (flat.argmin(), flat.argmax()):
        read_index("token", flat[place], count)
    return Side(torch.from_numpy(flat), torch.tensor([0, *map(len, groups)]).cumsum(0))


def _groups(tokens: Any) -> tuple[list[tuple[int, ...]], Int[np.ndarray, " token"]]:
    """The tokens of each row or column, and all of them in order."""
    try:
        groups = [entry if isinstance(entry, tuple) else _entry(entry) for entry in tokens]
        flat = np.array([at for group in groups for at in group])
    except (TypeError, ValueError, RuntimeError):
        groups, flat = [], np.array([])
    if flat.dtype.kind not in "iu" or flat.ndim != 1 or not all(groups):
        raise SelectionError(
            f"tokens is {said(tokens)}; it must be a list of the numbers of tokens, several in one "
            "entry to be merged."
        )
    return groups, flat.astype(np.int64)


def _entry(entry: Any) -> tuple[int, ...]:
    number = whole(entry)
    return tuple(entry) if number is MISS else (number,)


def _range(chosen: slice, side: Side) -> tuple[int, int]:
    start, stop, _ = chosen.indices(len(side))
    return start, max(0, stop - start)


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
    return start + np.minimum(np.arange(0, count + step, step), count)
