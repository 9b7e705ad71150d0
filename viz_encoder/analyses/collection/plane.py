"""The items of a set in one plane: principal components of their pooled vectors."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult, Columns


@dataclass(frozen=True, eq=False, repr=False)
class ItemPlane(ArrayResult, main="points"):
    """points[i] is where item i lies along two components, in the vectors' units.

    shares are the fractions of the variance, 0 … 1, that the two axes show. The rest is not shown,
    so items that are close here may be far apart.
    """

    points: Float[np.ndarray, "item 2"]
    shares: Float[np.ndarray, " 2"]
    axes: Float[np.ndarray, "2 d_pooled"]  # unit length; zeros if there is no such component

    def columns(self) -> Columns:
        """One line per item."""
        first, second = self.points.T.tolist()
        items = list(range(len(self.points)))
        return {"item": items, "component_1": first, "component_2": second}


def item_plane(vectors: Float[np.ndarray, "item d_pooled"]) -> ItemPlane:
    """Principal components (Pearson, 1901) of vectors from which their mean is subtracted.

    Each axis points so that its largest entry is positive, so the same set gives the same picture.

    Raises:
        SelectionError: fewer than two vectors.
    """
    if len(vectors) < 2:
        raise SelectionError("A plane needs at least two items; this set has one.")
    centered = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, lengths, rows = np.linalg.svd(centered, full_matrices=False)
    axes, variances = np.zeros((2, vectors.shape[1])), np.zeros(2)
    found = min(2, len(rows))
    axes[:found], variances[:found] = rows[:found], lengths[:found] ** 2
    largest = axes[range(2), np.abs(axes).argmax(axis=1)]
    axes *= np.where(largest < 0, -1.0, 1.0)[:, None]
    total = (lengths**2).sum()
    shares = variances / total if total > 0 else np.zeros(2)
    return ItemPlane(centered @ axes.T, shares, axes)
