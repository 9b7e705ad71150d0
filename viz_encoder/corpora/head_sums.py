"""HeadSums: what a part of a corpus adds to a head table; add batches, merge parts, finish."""

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from zipfile import BadZipFile

import numpy as np
from jaxtyping import Float

from viz_encoder.corpora.examples import StrongestPlaces
from viz_encoder.corpora.head_table import About, Failure, HeadTable
from viz_encoder.corpora.measured_batch import MeasuredBatch
from viz_encoder.corpora.spread import SpreadSums, VectorSums
from viz_encoder.corpora.statistics import STATISTICS
from viz_encoder.corpora.vector_rows import VectorRows
from viz_encoder.errors import TraceError

MOST_FAILURES = 1_000  # listed; all are counted
NOT_NUMBERS = "Its attention weights or its vector are not numbers (NaN); run the model in float32."


@dataclass(eq=False)
class HeadSums:
    """Float64 sums, counts and the k strongest examples: kilobytes, whatever the corpus's size.

    Parts may be merged in any order: examples are ordered by score and then by item number, and
    sums differ by float64's rounding only.
    """

    spreads: SpreadSums
    strongest: StrongestPlaces
    n_texts: int = 0
    n_tokens: int = 0
    n_failed: int = 0
    failures: list[Failure] = field(default_factory=list)  # those of the lowest numbers
    distances: Float[np.ndarray, "one other"] | None = None  # between heads, summed over a sample
    n_sampled: int = 0
    vectors: VectorSums | None = None  # where pooled vectors were asked for
    rows: VectorRows | None = None  # each text's vector, of this part alone; merge leaves them out

    @classmethod
    def empty(cls, n_layers: int, n_heads: int, *, k: int = 10) -> "HeadSums":
        """Sums over no texts."""
        spreads = SpreadSums.empty(n_layers, n_heads, len(STATISTICS))
        return cls(spreads, StrongestPlaces(k))

    def add(self, batch: MeasuredBatch) -> None:
        """Add the texts of a batch; one whose weights are no numbers is listed as failed."""
        if batch.broken:
            self.fail(Failure(item, NOT_NUMBERS) for item in batch.broken)
            batch = batch.without(set(batch.broken))
        if not batch.items:
            return
        self.spreads.merge(SpreadSums.of(batch.statistics))
        places = batch.score, batch.query, batch.key
        self.strongest.add(batch.items, batch.samples, *places)
        self.n_texts += len(batch.items)
        self.n_tokens += batch.n_tokens
        if batch.vectors is not None:
            self._add_vectors(VectorSums.of(batch.vectors))

    def add_rows(self, batch: MeasuredBatch) -> None:
        """Keep each text's own vector: 4 bytes a number, so for a part and not for a corpus."""
        batch = batch.without(set(batch.broken))
        if batch.vectors is None or not batch.items:
            return
        texts = (sample.texts for sample in batch.samples)
        rows = VectorRows.of(batch.items, texts, batch.vectors)
        self.rows = rows if self.rows is None else self.rows.merged(rows)

    def _add_vectors(self, found: VectorSums) -> None:
        if self.vectors is None:
            self.vectors = VectorSums.of(np.zeros((0, len(found.total))))
        self.vectors.merge(found)

    def add_distances(self, total: Float[np.ndarray, "one other"], n: int) -> None:
        """Add distances between heads, summed over n texts."""
        self.distances = total if self.distances is None else self.distances + total
        self.n_sampled += n

    def fail(self, failures: Iterable[Failure]) -> None:
        """List texts that could not be measured."""
        found = list(failures)
        self.n_failed += len(found)
        self.failures = sorted([*self.failures, *found])[:MOST_FAILURES]

    def merge(self, other: "HeadSums") -> None:
        """Add another part of the corpus.

        Raises:
            TraceError: a part of another model or made with other settings.
        """
        same_shape = self.spreads.total.shape == other.spreads.total.shape
        if not same_shape or self.strongest.k != other.strongest.k:
            raise TraceError(
                "These parts do not belong together: the model's layers and heads or the number of "
                "examples differ. Make all parts with one model and the same settings."
            )
        self.spreads.merge(other.spreads)
        self.strongest.merge(other.strongest)
        self.n_texts += other.n_texts
        self.n_tokens += other.n_tokens
        self.n_failed += other.n_failed
        if other.distances is not None:
            self.add_distances(other.distances, other.n_sampled)
        if other.vectors is not None:
            self._add_vectors(other.vectors)
        self.failures = sorted([*self.failures, *other.failures])[:MOST_FAILURES]

    def finish(self, about: About) -> HeadTable:
        """The table."""
        places = {name: at for at, name in enumerate(STATISTICS)}
        return HeadTable(
            about,
            self.n_texts,
            self.n_tokens,
            {name: self.spreads.spread(places[name]) for name in about.statistics},
            self.strongest.examples(),
            tuple(self.failures),
            self.n_failed,
            self._distances(),
            self.n_sampled,
            vectors=None if self.vectors is None else self.vectors.spread(about.pooling),
        )

    def _distances(self) -> Float[np.ndarray, "layer head layer head"] | None:
        if self.distances is None:
            return None
        sides = self.spreads.total.shape[:2]
        with np.errstate(invalid="ignore"):  # none was sampled: NaN
            return (self.distances / self.n_sampled).reshape(*sides, *sides)

    def to_bytes(self) -> bytes:
        """Serialize exactly, for `from_bytes`."""
        rest = {
            "counts": [self.n_texts, self.n_tokens, self.n_failed, self.n_sampled],
            "failures": [list(one) for one in self.failures],
            "strongest": self.strongest.as_data(),
        }
        file = io.BytesIO()
        arrays = self.spreads.arrays()
        if self.distances is not None:
            arrays["distances"] = self.distances
        for more in (self.vectors, self.rows):
            arrays |= {} if more is None else more.arrays()
        np.savez(file, allow_pickle=False, rest=_as_array(rest), **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> "HeadSums":
        """Rebuild from `to_bytes`.

        Raises:
            TraceError: something else.
        """
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                rest = json.loads(arrays["rest"].tobytes())
                spreads = SpreadSums.from_arrays(arrays)
                distances = arrays.get("distances")
                vectors, rows = VectorSums.from_arrays(arrays), VectorRows.from_arrays(arrays)
            failures = [Failure(*one) for one in rest["failures"]]
            strongest = StrongestPlaces.from_data(rest["strongest"])
            n_texts, n_tokens, n_failed, n_sampled = rest["counts"]
            counts = n_texts, n_tokens, n_failed
            return cls(spreads, strongest, *counts, failures, distances, n_sampled, vectors, rows)
        except (ValueError, KeyError, TypeError, OSError, EOFError, BadZipFile) as fault:
            raise TraceError(f"These bytes do not hold the sums of a corpus: {fault}.") from fault


def _as_array(data: Any) -> np.ndarray:
    """JSON as bytes; floats come back as the same floats."""
    return np.frombuffer(json.dumps(data).encode(), dtype=np.uint8)
