"""MeasuredRow: numbers of one query's keys, as a map of which the other rows are not known."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


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
