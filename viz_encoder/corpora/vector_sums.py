"""Vector sums: mean, deviation and mean cosine of pooled vectors, from sums that merge."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from viz_encoder.errors import TraceError
from viz_encoder.result import TableResult

PARTS = ("n", "total", "squares", "n_units", "units")


@dataclass(frozen=True, eq=False, repr=False)
class VectorSpread(TableResult, table={"mean": "mean", "sd": "sd"}):
    """The pooled vectors of a corpus; each text counts once.

    sd: of each dimension over texts (n − 1); NaN for a single text.
    mean_cosine: of two different texts, over all pairs; near 1, all vectors point one way
        (anisotropy, Ethayarajh, 2019, arXiv:1909.00512). NaN for a single text.
    """

    pooling: str
    mean: Float[np.ndarray, " d_pooled"]
    sd: Float[np.ndarray, " d_pooled"]
    mean_cosine: float
    n_texts: int


@dataclass(eq=False)
class VectorSums:
    """Float64 sums over texts; `squares` are of the deviations from the mean, as in SpreadSums.

    units: the sum of the vectors at length 1. The squared length of it holds the cosine of every
    pair, so no vector needs to be kept; zero vectors have none and are left out of it.
    """

    n: int
    total: Float[np.ndarray, " d_pooled"]
    squares: Float[np.ndarray, " d_pooled"]
    n_units: int
    units: Float[np.ndarray, " d_pooled"]

    @classmethod
    def of(cls, vectors: Float[np.ndarray, "text d_pooled"]) -> "VectorSums":
        """Sums over these texts."""
        wide = vectors.astype(np.float64)
        total, lengths = wide.sum(axis=0), np.linalg.norm(wide, axis=1, keepdims=True)
        there = lengths[:, 0] > 0
        units = (wide[there] / lengths[there]).sum(axis=0)
        squares = np.square(wide - total / max(1, len(wide))).sum(axis=0)
        return cls(len(wide), total, squares, int(there.sum()), units)

    def merge(self, other: "VectorSums") -> None:
        """Add the texts of another part to these.

        Raises:
            TraceError: vectors of another length.
        """
        if self.total.shape != other.total.shape:
            raise TraceError(
                f"These parts do not belong together: vectors of {len(self.total)} and of "
                f"{len(other.total)} numbers. Make all parts with one model and one pooling."
            )
        apart = other.total / max(1, other.n) - self.total / max(1, self.n)
        self.squares += other.squares + np.square(apart) * (
            self.n * other.n / max(1, self.n + other.n)
        )
        self.n, self.n_units = self.n + other.n, self.n_units + other.n_units
        self.total += other.total
        self.units += other.units

    def spread(self, pooling: str) -> VectorSpread:
        """Spread from the sums."""
        sd = np.full(self.total.shape, np.nan)
        if self.n > 1:
            sd = np.sqrt(self.squares / (self.n - 1))
        n, cosine = self.n_units, float("nan")
        if n > 1:
            cosine = float((self.units @ self.units - n) / (n * (n - 1)))
        return VectorSpread(pooling, self.total / max(1, self.n), sd, cosine, self.n)

    def arrays(self) -> dict[str, np.ndarray]:
        """The sums by name, exactly."""
        return {f"vector_{name}": np.asarray(getattr(self, name)) for name in PARTS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "VectorSums | None":
        """Rebuild from `arrays`; None if there are none."""
        if "vector_n" not in arrays:
            return None
        n, total, squares, n_units, units = (arrays[f"vector_{name}"] for name in PARTS)
        return cls(int(n), total, squares, int(n_units), units)
