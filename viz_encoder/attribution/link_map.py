"""LinkMap: what each link of the chosen heads carried of a score, over what is shown."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from viz_encoder.attribution.attribution import Attribution
from viz_encoder.trace.head_rows import blocks_of
from viz_encoder.trace.map_view import MapView, heads_of

BLOCK = 512  # query rows at a time


@dataclass(frozen=True, eq=False)
class LinkMap:
    """A signed map: shares add up, so heads, and the subwords of a word, are summed."""

    found: Attribution
    view: MapView

    @property
    def n_shown(self) -> int:
        """How many tokens or words are shown."""
        return len(self._shown)

    @property
    def known(self) -> tuple[Container[int], Container[int]]:
        """Those that have a share: all but padding of one of two runs."""
        places = self.found.parts[0].columns
        known = {at for at, unit in enumerate(self._shown) if all(places[n] >= 0 for n in unit)}
        return known, known

    def blocks(
        self, queries: Int[np.ndarray, " query"], keys: Int[np.ndarray, " key"]
    ) -> Iterator[tuple[slice, Float[np.ndarray, "query key"]]]:
        """Sums over the heads, in blocks of queries."""
        for block in blocks_of(len(queries), BLOCK):
            yield block, self._part(queries[block], keys)

    def _part(
        self, queries: Int[np.ndarray, " query"], keys: Int[np.ndarray, " key"]
    ) -> Float[np.ndarray, "query key"]:
        (rows, first), (columns, nth) = self._columns(queries), self._columns(keys)
        span = slice(int(rows.min()), int(rows.max()) + 1)
        each = (self.found.links(self.view.layer, head, span) for head in self._heads)
        total = next(each)
        for links in each:
            total = total + links
        summed = np.add.reduceat(total[rows - span.start][:, columns], first, axis=0)
        return np.add.reduceat(summed, nth, axis=1)

    def _columns(self, places: Int[np.ndarray, " place"]) -> tuple[np.ndarray, np.ndarray]:
        """The columns of all tokens of these places, and where each place begins among them."""
        units = [self._shown[int(at)] for at in places]
        starts = np.cumsum([0, *map(len, units)])[:-1]
        return self.found.parts[0].columns[[n for unit in units for n in unit]], starts

    @cached_property
    def _shown(self) -> Sequence[tuple[int, ...]]:
        return self.view.kept(self.found.trace)

    @cached_property
    def _heads(self) -> list[int]:
        return heads_of(self.found.trace, self.view.layer, self.view.head)
