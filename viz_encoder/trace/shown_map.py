"""A map as it is shown, with tokens hidden, renormalized or merged; one query in every head too."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.trace.head_rows import rows_at_once
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.map_view import AS_IT_RAN, Head, MapView
from viz_encoder.trace.token_selection import place_of
from viz_encoder.trace.trace import Trace

Unit = tuple[int, ...]  # one token's index, or those of a word's subwords


@dataclass(frozen=True, eq=False)
class Side:
    """The tokens along one side of a map, each row or column a range of them."""

    tokens: Int[Tensor, " token"]
    starts: Int[Tensor, " edge"]  # where each row or column begins, and where the last one ends

    @classmethod
    def of(cls, units: Sequence[Unit]) -> "Side":
        """A row or column for each unit."""
        tokens = torch.tensor([at for unit in units for at in unit], dtype=torch.int64)
        return cls(tokens, torch.tensor([0, *map(len, units)]).cumsum(0))

    def __len__(self) -> int:
        """Number of rows or columns."""
        return len(self.starts) - 1

    @property
    def merged(self) -> bool:
        """Whether some row or column holds several tokens."""
        return len(self) < len(self.tokens)

    @property
    def owners(self) -> Int[Tensor, " token"]:
        """The row or column of each token."""
        return torch.arange(len(self)).repeat_interleave(self.starts.diff())

    def part(self, start: int, stop: int) -> "Side":
        """Some of the rows or columns, in order."""
        starts = self.starts[start : stop + 1]
        return Side(self.tokens[int(starts[0]) : int(starts[-1])], starts - starts[0])

    def picked(self, places: Iterable[int]) -> "Side":
        """The rows or columns of these places."""
        edges = self.starts.tolist()
        return Side.of([tuple(self.tokens[edges[at] : edges[at + 1]].tolist()) for at in places])


@dataclass(frozen=True, eq=False)
class ShownMap:
    """One (fused) map over what is shown.

    Heads are fused, rows renormalized over the shown keys, then each word's queries averaged and
    its keys summed (Clark et al., 2019, arXiv:1906.04341), so that rows that summed to 1 still do.
    """

    layer: LayerTrace
    heads: list[int]
    head: Head
    keys: Side
    renormalize: bool = False

    @property
    def fits(self) -> int:
        """Number of query rows held at a time."""
        return rows_at_once(self.layer.k.shape[1], self.layer.q.device)

    def rows(self, queries: Side) -> Float[Tensor, "row col"]:
        """Whole rows over the shown keys, on the CPU; NaN where the mask forbids every pair."""
        if not queries.merged:
            return self._by_query(queries.tokens)
        shape = len(queries), len(self.keys)
        sums, seen = torch.zeros(shape), torch.zeros(shape)
        # A word may have more sub-words than fit.
        pieces = zip(queries.tokens.split(self.fits), queries.owners.split(self.fits), strict=True)
        for tokens, owners in pieces:
            part = self._by_query(tokens)
            sums.index_add_(0, owners, part.nan_to_num(0.0))
            seen.index_add_(0, owners, (~part.isnan()).float())
        return (sums / queries.starts.diff()[:, None]).masked_fill(seen == 0, torch.nan)

    def part(
        self, queries: Int[np.ndarray, " query"], keys: Int[np.ndarray, " key"]
    ) -> Float[np.ndarray, "query key"]:
        """The cells of these places, whose queries are the tokens that the keys are."""
        return self.rows(self.keys.picked(queries.tolist()))[:, keys].numpy()

    def _by_query(self, queries: Int[Tensor, " query"]) -> Float[Tensor, "query col"]:
        return _over_keys(self._weights(queries), self.keys, self.renormalize)

    def _weights(self, queries: Int[Tensor, " query"]) -> Float[Tensor, "query key"]:
        """Full rows on the CPU, NaN where the mask forbids the pair in every head."""
        layer, at = self.layer, queries.to(self.layer.q.device)
        fused = layer.fused(self.heads, "max" if self.head == "max" else "mean", at)
        if layer.mask is not None:
            mask = layer.mask[self.heads] if layer.mask.shape[0] > 1 else layer.mask
            mask = mask[:, at] if mask.shape[1] > 1 else mask
            fused = fused.masked_fill(~mask.any(dim=0), torch.nan)
        return fused.cpu()


def shown_row(
    trace: Trace, layer: int, query: int, view: MapView = AS_IT_RAN
) -> Float[np.ndarray, "head key"]:
    """One column per entry of `shown_keys`; NaN where the mask forbids the key altogether.

    Args:
        trace: the run.
        layer: counted from 0.
        query: the query token; with words, any token of the word.
        view: what is hidden, renormalized and merged; its layer and head are ignored.

    Raises:
        SelectionError: there is no such token, or it is a hidden special token.
    """
    return row_of(trace, layer, shown_unit(trace, query, view), view)


def row_of(
    trace: Trace, layer: int, unit: Sequence[int], view: MapView = AS_IT_RAN
) -> Float[np.ndarray, "head key"]:
    """The same for these queries, merged, whether they are shown or not.

    Rows are renormalized before subwords are merged: the mean over a word's queries of the sum
    over a word's keys (Clark et al., 2019, arXiv:1906.04341).
    """
    ran = trace.layers[layer]
    queries = torch.tensor(unit, device=ran.q.device)
    weights = ran.weights(slice(None), queries).float()
    if ran.mask is not None:
        mask = ran.mask[:, queries] if ran.mask.shape[1] > 1 else ran.mask
        weights = weights.masked_fill(~mask, torch.nan)
    found = _over_keys(weights.cpu(), Side.of(shown_keys(trace, layer, view)), view.renormalize)
    seen = ~found.isnan()
    mean = found.nan_to_num(0.0).mean(dim=1).masked_fill(~seen.any(dim=1), torch.nan)
    return np.asarray(mean.numpy())


def _over_keys(
    weights: Float[Tensor, "*rows key"], keys: Side, renormalize: bool
) -> Float[Tensor, "*rows col"]:
    """Rows over the shown keys, renormalized, then a column for each word; NaN where all are."""
    if not torch.equal(keys.tokens, torch.arange(weights.shape[-1])):
        weights = weights[..., keys.tokens]
    if renormalize:
        sums = weights.nansum(dim=-1, keepdim=True)
        weights = weights / sums.masked_fill(sums == 0, 1.0)
    if not keys.merged:
        return weights
    merged = weights.new_zeros(*weights.shape[:-1], len(keys))
    seen = merged.index_add(-1, keys.owners, (~weights.isnan()).to(weights))
    merged.index_add_(-1, keys.owners, weights.nan_to_num(0.0))
    return merged.masked_fill(seen == 0, torch.nan)


def shown_keys(trace: Trace, layer: int, view: MapView) -> list[tuple[int, ...]]:
    """Tokens of each column: all of another sequence, otherwise the shown ones."""
    ran = trace.layers[layer]
    if ran.cross:
        return [(at,) for at in range(ran.k.shape[1])]
    return view.kept(trace)


def shown_unit(trace: Trace, query: int, view: MapView) -> list[int]:
    """Tokens merged into a query's row; without words, only the query itself.

    Raises:
        SelectionError: there is no such token, or it is a hidden special token.
    """
    units = view.kept(trace)
    return list(units[place_of(units, query, trace, "query")])
