"""Spread of every statistic, and of pooled vectors, over texts, from sums that merge."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from viz_encoder.errors import TraceError
from viz_encoder.result import TableResult
from viz_encoder.shown import OneLine

PARTS = ("n", "total", "squares", "least", "most")


@dataclass(frozen=True, eq=False, repr=False)
class Spread(OneLine):
    """One statistic of every head over the texts that have it, with equal weight per text.

    sd: the standard deviation over these texts (n − 1); NaN for a single text.
    """

    mean: Float[np.ndarray, "layer head"]
    sd: Float[np.ndarray, "layer head"]
    least: Float[np.ndarray, "layer head"]
    most: Float[np.ndarray, "layer head"]
    n_texts: int


@dataclass(eq=False)
class SpreadSums:
    """Float64 sums over texts, for statistics in a fixed order.

    `squares` are of the deviations from the mean; two parts are merged as in Chan, Golub & LeVeque,
    1979, "Updating formulae and a pairwise algorithm for computing sample variances", which loses
    no digits where all texts are alike.
    """

    n: Int[np.ndarray, " statistic"]
    total: Float[np.ndarray, "layer head statistic"]
    squares: Float[np.ndarray, "layer head statistic"]
    least: Float[np.ndarray, "layer head statistic"]
    most: Float[np.ndarray, "layer head statistic"]

    @classmethod
    def empty(cls, n_layers: int, n_heads: int, n_statistics: int) -> "SpreadSums":
        """Sums over no texts."""
        shape = n_layers, n_heads, n_statistics
        total, squares = np.zeros(shape), np.zeros(shape)
        least, most = np.full(shape, np.inf), np.full(shape, -np.inf)
        return cls(np.zeros(n_statistics, dtype=np.int64), total, squares, least, most)

    @classmethod
    def of(cls, values: Float[np.ndarray, "text layer head statistic"]) -> "SpreadSums":
        """Sums over these texts; NaN if a text lacks a statistic, in all of its heads."""
        there = ~np.isnan(values[:, :1, :1])
        n = there.sum(axis=(0, 1, 2))
        total = np.where(there, values, 0.0).sum(axis=0)
        apart = np.where(there, values - total / np.maximum(n, 1), 0.0)
        return cls(
            n,
            total,
            np.square(apart).sum(axis=0),
            np.where(there, values, np.inf).min(axis=0),
            np.where(there, values, -np.inf).max(axis=0),
        )

    def merge(self, other: "SpreadSums") -> None:
        """Add the texts of another part to these."""
        n = np.maximum(self.n + other.n, 1)
        apart = other.total / np.maximum(other.n, 1) - self.total / np.maximum(self.n, 1)
        self.squares += other.squares + np.square(apart) * (self.n * other.n / n)
        self.n = self.n + other.n
        self.total += other.total
        self.least = np.minimum(self.least, other.least)
        self.most = np.maximum(self.most, other.most)

    def spread(self, at: int) -> Spread:
        """Spread of one statistic; NaN if no text has it."""
        n = int(self.n[at])
        if not n:
            none = np.full(self.total.shape[:2], np.nan)
            return Spread(none, none, none, none, 0)
        sd = np.full(self.total.shape[:2], np.nan)
        if n > 1:
            sd = np.sqrt(self.squares[..., at] / (n - 1))
        return Spread(
            self.total[..., at] / n, sd, self.least[..., at].copy(), self.most[..., at].copy(), n
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """The sums by name, exactly."""
        return {name: getattr(self, name) for name in PARTS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "SpreadSums":
        """Rebuild from `arrays`."""
        return cls(*(arrays[name] for name in PARTS))


VECTOR_PARTS = ("n", "total", "squares", "n_units", "units")


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
        return {f"vector_{name}": np.asarray(getattr(self, name)) for name in VECTOR_PARTS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "VectorSums | None":
        """Rebuild from `arrays`; None if there are none."""
        if "vector_n" not in arrays:
            return None
        n, total, squares, n_units, units = (arrays[f"vector_{name}"] for name in VECTOR_PARTS)
        return cls(int(n), total, squares, int(n_units), units)
