"""Overview: any part of a map at any zoom; exact cells, or the largest of each block."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.arguments import AS_IT_IS, Count, Token, public, read_index, said
from viz_encoder.arguments.kinds import MISS, whole
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.head_rows import rows_at_once
from viz_encoder.trace.map_view import Head, heads_of
from viz_encoder.trace.token_selection import query_of

# Tokens in order; several in one entry are merged. They are thousands, and checked all at once.
Shown = Annotated[Sequence[int | Sequence[int]], AS_IT_IS]


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
    tokens: Shown | None = None,
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


@public
def row(
    trace: Trace,
    layer: int,
    head: Head,
    query: Token | Sequence[Token],
    *,
    tokens: Shown | None = None,
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


@dataclass(frozen=True, eq=False)
class _Side:
    """The tokens along one side of a map, each row or column a range of them."""

    tokens: Int[Tensor, " token"]
    starts: Int[Tensor, " edge"]  # where each row or column begins, and where the last one ends

    @property
    def merged(self) -> bool:
        return len(self.starts) - 1 < len(self.tokens)

    @property
    def owners(self) -> Int[Tensor, " token"]:
        """The row or column of each token."""
        return torch.arange(len(self.starts) - 1).repeat_interleave(self.starts.diff())

    def part(self, start: int, stop: int) -> "_Side":
        starts = self.starts[start : stop + 1]
        return _Side(self.tokens[int(starts[0]) : int(starts[-1])], starts - starts[0])


@dataclass(frozen=True, eq=False)
class _Map:
    """One (fused) map as shown: which keys, merged and renormalized or not."""

    layer: LayerTrace
    heads: list[int]
    head: Head
    keys: _Side
    renormalize: bool

    @property
    def fits(self) -> int:
        """Queries whose rows are held at a time."""
        return rows_at_once(self.layer.k.shape[1], self.layer.q.device)

    def rows(self, queries: _Side) -> Float[Tensor, "row col"]:
        """Whole rows over the kept keys, on the CPU; NaN where the mask forbids every pair."""
        if not queries.merged:
            return self._by_query(queries.tokens)
        shape = len(queries.starts) - 1, len(self.keys.starts) - 1
        sums, seen = torch.zeros(shape), torch.zeros(shape)
        # A word may have more sub-words than fit.
        pieces = zip(queries.tokens.split(self.fits), queries.owners.split(self.fits), strict=True)
        for tokens, owners in pieces:
            part = self._by_query(tokens)
            sums.index_add_(0, owners, part.nan_to_num(0.0))
            seen.index_add_(0, owners, (~part.isnan()).float())
        return (sums / queries.starts.diff()[:, None]).masked_fill(seen == 0, torch.nan)

    def _by_query(self, queries: Int[Tensor, " query"]) -> Float[Tensor, "query col"]:
        weights = _rows(self.layer, self.heads, self.head, queries)
        if not torch.equal(self.keys.tokens, torch.arange(weights.shape[1])):
            weights = weights[:, self.keys.tokens]
        if self.renormalize:
            sums = weights.nansum(dim=1, keepdim=True)
            weights = weights / sums.masked_fill(sums == 0, 1.0)
        if not self.keys.merged:
            return weights
        shape = len(queries), len(self.keys.starts) - 1
        owners, seen = self.keys.owners, torch.zeros(shape)
        sums = torch.zeros(shape).index_add_(1, owners, weights.nan_to_num(0.0))
        seen.index_add_(1, owners, (~weights.isnan()).float())
        return sums.masked_fill(seen == 0, torch.nan)


def _map(trace: Trace, layer: int, head: Head, tokens: Shown | None, renormalize: bool) -> _Map:
    heads, ran = heads_of(trace, layer, head), trace.layers[layer]
    keys = _side(ran.k.shape[1], None if ran.cross else tokens)
    return _Map(ran, heads, head, keys, renormalize)


def _side(count: int, tokens: Shown | None) -> _Side:
    if tokens is None:
        return _Side(torch.arange(count), torch.arange(count + 1))
    groups, flat = _groups(tokens)
    for place in (flat.argmin(), flat.argmax()):
        read_index("token", flat[place], count)
    return _Side(torch.from_numpy(flat), torch.tensor([0, *map(len, groups)]).cumsum(0))


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


def _range(chosen: slice, side: _Side) -> tuple[int, int]:
    """Start and length of a range of rows or columns."""
    start, stop, _ = chosen.indices(len(side.starts) - 1)
    return start, max(0, stop - start)


def _rows(
    layer: LayerTrace, heads: list[int], head: Head, queries: Tensor
) -> Float[Tensor, "query key"]:
    """Whole rows of a (fused) map on the CPU, NaN where the mask forbids the key for every head."""
    # One head at a time: a block of all heads would be n_heads times as large.
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
    """Start of each cell, and the end of the last."""
    return start + np.minimum(np.arange(0, count + step, step), count)
