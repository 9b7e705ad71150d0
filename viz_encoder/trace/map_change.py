"""Map change: the map of one head less that of its counterpart in another run, in blocks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.map_view import Head

BLOCK_BYTES = 2**20  # of one head's rows at a time, few enough to stay in the processor's cache
BLOCK_BYTES_GPU = 2**26


@dataclass(frozen=True, eq=False, repr=False)
class SignedTile(ArrayResult, main="values"):
    """A part of a signed map over this run's tokens; the strongest change of each block of cells.

    NaN where no pair of the block has a partner that both masks allow.
    """

    values: Float[np.ndarray, "row col"]
    row_step: int
    key_step: int


@dataclass(frozen=True, eq=False)
class MapChange:
    """One (fused) map of two runs, and which token of the reference stands for which here."""

    now: LayerTrace
    was: LayerTrace
    heads: list[int]
    head: Head
    partners: Mapping[int, int]

    def blocks(
        self, queries: Int[np.ndarray, " query"], keys: Int[np.ndarray, " key"]
    ) -> Iterator[tuple[slice, Float[np.ndarray, "query key"]]]:
        """now − was of these queries and keys of this run, all aligned; some queries at a time."""
        here = torch.from_numpy(queries), torch.from_numpy(keys)
        there = tuple(torch.tensor([self.partners[int(at)] for at in side]) for side in here)
        gpu = self.now.q.device.type != "cpu"
        longest = max(self.now.k.shape[1], self.was.k.shape[1])
        step = max(1, (BLOCK_BYTES_GPU if gpu else BLOCK_BYTES) // (4 * longest))
        for start in range(0, len(queries), step):
            block = slice(start, min(start + step, len(queries)))
            now = self._part(self.now, here[0][block], here[1])
            yield block, (now - self._part(self.was, there[0][block], there[1])).numpy()

    def _part(self, layer: LayerTrace, queries: Tensor, keys: Tensor) -> Float[Tensor, "query key"]:
        """A part of the map on the CPU, NaN where the mask forbids the pair for every head."""
        at, of = queries.to(layer.q.device), keys.to(layer.q.device)
        # One head at a time: a block of all of them at once would be n_heads as large.
        each = (layer.weights(slice(h, h + 1), at)[0][:, of].float() for h in self.heads)
        total = next(each)
        for weights in each:
            total = total.maximum(weights) if self.head == "max" else total + weights
        fused = total if self.head == "max" else total / len(self.heads)
        if layer.mask is not None:
            mask = layer.mask[self.heads] if layer.mask.shape[0] > 1 else layer.mask
            mask = mask[:, at] if mask.shape[1] > 1 else mask
            mask = mask[:, :, of] if mask.shape[2] > 1 else mask
            fused = fused.masked_fill(~mask.any(dim=0), torch.nan)
        return fused.cpu()


def query_row(layer: LayerTrace, query: int) -> Float[np.ndarray, "head key"]:
    """One query's weights by every head; NaN where the mask forbids the key."""
    weights = layer.weights(slice(0, layer.n_heads), slice(query, query + 1))[:, 0].float()
    if layer.mask is not None:
        allowed = layer.mask[:, query if layer.mask.shape[1] > 1 else 0]
        weights = weights.masked_fill(~allowed, torch.nan)
    found: np.ndarray = weights.cpu().numpy()
    return found


def signed_tile(
    changes: MapChange, n_tokens: int, rows: slice, keys: slice, size: int
) -> SignedTile:
    """A part of the signed map over all of this run's tokens, at most `size` cells a side.

    Raises:
        SelectionError: a part that is empty.
    """
    queries, columns = (range(*part.indices(n_tokens)) for part in (rows, keys))
    if not queries or not columns:
        raise SelectionError("That part of the map is empty; choose at least one query and key.")
    row_step, key_step = -(-len(queries) // size), -(-len(columns) // size)
    shape = -(-len(queries) // row_step), -(-len(columns) // key_step)
    found = np.full(shape, np.nan, np.float32)
    ours, others = (
        np.array([at for at in side if at in changes.partners], np.int64)
        for side in (queries, columns)
    )
    into = (ours - queries.start) // row_step, (others - columns.start) // key_step
    for block, values in changes.blocks(ours, others):
        for row, each in zip(into[0][block], values, strict=True):
            _add_strongest(found[row], into[1], each)
    return SignedTile(found, row_step, key_step)


def _add_strongest(
    row: Float[np.ndarray, " col"],
    cells: Int[np.ndarray, " key"],
    values: Float[np.ndarray, " key"],
) -> None:
    """Put each value into its cell of the row, unless a stronger one is there."""
    order = np.argsort(np.abs(np.nan_to_num(values)), kind="stable")  # of a cell the last one stays
    known = order[~np.isnan(values[order])]
    fresh = np.full_like(row, np.nan)
    fresh[cells[known]] = values[known]
    stronger = ~np.isnan(fresh) & ~(np.abs(fresh) <= np.abs(row))  # so is any beside NaN
    row[stronger] = fresh[stronger]
