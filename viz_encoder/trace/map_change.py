"""Signed maps: numbers with a sign for pairs of tokens, as one run's weights minus another's."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult
from viz_encoder.trace.head_rows import blocks_of
from viz_encoder.trace.shown_map import ShownMap


@dataclass(frozen=True, eq=False, repr=False)
class SignedTile(ArrayResult, main="values"):
    """Part of a signed map: the number of the largest amount in each block of cells.

    NaN where no pair in the block has one; of changes, no match that both masks allow.
    """

    values: Float[np.ndarray, "row col"]
    row_step: int
    key_step: int


@runtime_checkable
class Signed(Protocol):
    """A signed map; places count what is shown: tokens, or words where subwords are merged."""

    @property
    def n_shown(self) -> int:
        """How many places a side has."""

    @property
    def known(self) -> tuple[Container[int], Container[int]]:
        """The queries and the keys that have numbers."""

    def blocks(
        self, queries: Int[np.ndarray, " query"], keys: Int[np.ndarray, " key"]
    ) -> Iterator[tuple[slice, Float[np.ndarray, "query key"]]]:
        """The numbers of these pairs, in blocks of queries."""


@dataclass(frozen=True, eq=False)
class MapChange:
    """One (fused) map of two runs, and the aligned positions of the reference."""

    now: ShownMap
    was: ShownMap
    partners: Mapping[int, int]

    @property
    def n_shown(self) -> int:
        """How many places this run has."""
        return len(self.now.keys)

    @property
    def known(self) -> tuple[Container[int], Container[int]]:
        """Those that have a partner."""
        return self.partners, self.partners

    def blocks(
        self, queries: Int[np.ndarray, " query"], keys: Int[np.ndarray, " key"]
    ) -> Iterator[tuple[slice, Float[np.ndarray, "query key"]]]:
        """Iterate over now − was for aligned queries and keys of this run, in blocks of queries."""
        for block, now, was in self.both(queries, keys):
            yield block, now - was

    def both(
        self, queries: Int[np.ndarray, " query"], keys: Int[np.ndarray, " key"]
    ) -> Iterator[tuple[slice, Float[np.ndarray, "query key"], Float[np.ndarray, "query key"]]]:
        """The weights now, and those of the reference, in blocks of queries."""
        there = tuple(np.array([self.partners[int(at)] for at in side]) for side in (queries, keys))
        step = min(self.now.fits, self.was.fits)
        for block in blocks_of(len(queries), step):
            now = self.now.part(queries[block], keys)
            yield block, now, self.was.part(there[0][block], there[1])


@dataclass(frozen=True, eq=False)
class MeasuredRow:
    """One row of a signed map; `shown` are the tokens of its places."""

    query: int
    values: Mapping[int, float]
    shown: Sequence[int]

    @property
    def n_shown(self) -> int:
        """How many places a side has."""
        return len(self.shown)

    @property
    def known(self) -> tuple[Container[int], Container[int]]:
        """The query's row, and the keys that were measured."""
        rows = {at for at, token in enumerate(self.shown) if token == self.query}
        return rows, {at for at, token in enumerate(self.shown) if token in self.values}

    def blocks(
        self, queries: Int[np.ndarray, " query"], keys: Int[np.ndarray, " key"]
    ) -> Iterator[tuple[slice, Float[np.ndarray, "query key"]]]:
        """The row, where it is asked for."""
        if len(queries):
            row = [self.values[self.shown[int(at)]] for at in keys]
            yield slice(0, 1), np.array([row], np.float32)


def signed_tile(signed: Signed, rows: slice, keys: slice, size: int) -> SignedTile:
    """Part of a signed map over what is shown, at most `size` cells per side.

    Raises:
        SelectionError: the part is empty.
    """
    queries, columns = (range(*part.indices(signed.n_shown)) for part in (rows, keys))
    if not queries or not columns:
        raise SelectionError("That part of the map is empty; choose at least one query and key.")
    row_step, key_step = -(-len(queries) // size), -(-len(columns) // size)
    shape = -(-len(queries) // row_step), -(-len(columns) // key_step)
    ours, others = (
        np.array([at for at in side if at in known], np.int64)
        for side, known in zip((queries, columns), signed.known, strict=True)
    )
    rows_of, keys_of = ours - queries.start, others - columns.start
    highest = np.full(shape, np.nan, np.float32)
    lowest = highest.copy() if row_step * key_step > 1 else highest
    for block, values in signed.blocks(ours, others):
        if lowest is highest:
            highest[rows_of[block][:, None], keys_of] = values
            continue
        strip = np.full((len(values), shape[1] * key_step), np.nan, np.float32)
        strip[:, keys_of] = values
        cells = strip.reshape(len(values), shape[1], key_step)
        for found, stronger in ((highest, np.fmax), (lowest, np.fmin)):  # both ignore NaN
            pooled = stronger.reduce(cells, axis=2)
            for row, each in zip(rows_of[block] // row_step, pooled, strict=True):
                stronger(found[row], each, out=found[row])
    return SignedTile(
        np.where(np.abs(lowest) > np.abs(highest), lowest, highest), row_step, key_step
    )
