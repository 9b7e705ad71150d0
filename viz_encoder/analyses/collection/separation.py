"""Separation: how well cosines of vectors tell labels apart; Plane: their principal components."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from viz_encoder.arguments import public
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.result import ArrayResult, Columns, SeriesResult, TableResult

ItemVectors = Float[np.ndarray, "item d_pooled"]
Square = Float[np.ndarray, "item item"]
Groups = Int[np.ndarray, " item"]
COLUMNS = ("silhouette", "centroid_accuracy", "recall_at_1", "within", "between")
NAN = float("nan")
SAME = 1e-5  # relative to the largest value: rounding, as for [CLS] before any block


@dataclass(frozen=True, repr=False)
class Separation(TableResult):
    """How well cosine separates the groups; NaN where undefined, for the reason in `why`.

    An item that is alone in its group counts 0 in the silhouette (as in scikit-learn) and is not
    asked for its neighbor or its group's mean; others may still find it.
    """

    method: str
    state: int
    silhouette: float  # Rousseeuw (1987), mean over items, by cosine distance: -1 to 1
    centroid_accuracy: float  # share of items nearest to the mean of their own group's others
    recall_at_1: float  # share of items whose nearest neighbor is of their group
    within: float  # mean cosine of two items of one group
    between: float  # mean cosine of two items of different groups
    why: str = ""

    def columns(self) -> Columns:
        """One line, of all its numbers."""
        return SeparationTable((self,)).columns()


@dataclass(frozen=True, repr=False)
class SeparationTable(SeriesResult[Separation], items="rows"):
    """Every method at every state, the best first."""

    rows: tuple[Separation, ...]


@public
def separation(method: str, state: int, vectors: ItemVectors, labels: Sequence[str]) -> Separation:
    """The numbers of one method at one state.

    Raises:
        InputError: not one label an item.
    """
    if len(labels) != len(vectors):
        raise InputError(f"There are {len(vectors)} items and {len(labels)} labels; give one each.")
    groups = np.unique(np.asarray(labels), return_inverse=True)[1]
    why = _why_not(vectors, groups)
    if why:
        return Separation(method, state, NAN, NAN, NAN, NAN, NAN, why)
    cosine = cosines(vectors)
    same = groups[:, None] == groups
    pairs = ~np.eye(len(groups), dtype=bool)
    asked = (same & pairs).any(axis=1)
    return Separation(
        method,
        state,
        silhouette=silhouette(cosine, groups),
        centroid_accuracy=_share(centroid_hits(vectors, groups), asked),
        recall_at_1=_share(nearest_hits(cosine, groups), asked),
        within=float(cosine[same & pairs].mean()) if asked.any() else NAN,
        between=float(cosine[~same].mean()),
        why="" if asked.any() else "Each label appears once, so no group has two items.",
    )


def cosines(vectors: ItemVectors, item: int | None = None) -> Float[np.ndarray, "query item"]:
    """Cosine of every two items, or of one with all; NaN where a vector is zero or not finite."""
    unit = _unit(vectors)
    queries = unit if item is None else unit[item][None]
    return np.clip(queries @ unit.T, -1, 1)


def silhouette(cosine: Square, groups: Groups) -> float:
    """Mean of (b − a) / max(a, b): a within an item's group, b to the nearest other group."""
    sizes = np.bincount(groups)
    member = np.eye(len(sizes))[groups]
    distance = 1 - cosine
    np.fill_diagonal(distance, 0)
    sums = distance @ member
    own = np.arange(len(groups)), groups
    with np.errstate(invalid="ignore", divide="ignore"):
        a = sums[own] / (sizes[groups] - 1)
        means = sums / sizes
        means[own] = np.inf
        b = means.min(axis=1)
        scores = (b - a) / np.maximum(a, b)
    return float(np.nan_to_num(scores).mean())  # 0 for an item alone, and where a = b = 0


def centroid_hits(vectors: ItemVectors, groups: Groups) -> Bool[np.ndarray, " item"]:
    """Whether each item is nearest to its own group's mean of unit vectors, itself left out.

    By cosine; a tie is decided for the other group.
    """
    unit = _unit(vectors)
    member = np.eye(groups.max() + 1)[groups]
    sums = member.T @ unit
    similar = unit @ _unit(sums).T
    own = np.arange(len(groups)), groups
    similar[own] = np.nan_to_num((unit * _unit(sums[groups] - unit)).sum(axis=1), nan=-np.inf)
    others = similar.copy()
    others[own] = -np.inf
    return similar[own] > np.nan_to_num(others, nan=-np.inf).max(axis=1)


def nearest_hits(cosine: Square, groups: Groups) -> Bool[np.ndarray, " item"]:
    """Whether each item's nearest neighbor is of its group; the first of equals is taken."""
    apart = cosine.copy()
    np.fill_diagonal(apart, -np.inf)
    return groups[apart.argmax(axis=1)] == groups


def _share(hits: Bool[np.ndarray, " item"], asked: Bool[np.ndarray, " item"]) -> float:
    return float(hits[asked].mean()) if asked.any() else NAN


def _unit(vectors: ItemVectors) -> Float[np.ndarray, "item d_pooled"]:
    """Normalize to unit length in float64; NaN where there is no direction."""
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.divide(wide, lengths, out=np.full_like(wide, np.nan), where=lengths > 0)


def _why_not(vectors: ItemVectors, groups: Groups) -> str:
    if not np.isfinite(vectors).all():
        at = int(np.argmin(np.isfinite(vectors).all(axis=1)))
        return f"Item {at} has NaN or infinite values."
    if not vectors.any(axis=1).all():
        at = int(np.argmin(vectors.any(axis=1)))
        return f"Item {at} has a zero vector, which has no direction."
    if np.abs(vectors - vectors[0]).max() <= SAME * np.abs(vectors).max():
        return "All items have the same vector, so it tells nothing apart."
    if groups.max() == 0:
        return "All items have one label, so there are no groups to tell apart."
    return ""


@dataclass(frozen=True, eq=False, repr=False)
class ItemPlane(ArrayResult, main="points", table={("component_1", "component_2"): "points"}):
    """points[i] is where item i lies along two components, in the vectors' units.

    shares are the fractions of the variance, 0 … 1, that the two axes show. The rest is not shown,
    so items that are close here may be far apart.
    """

    points: Float[np.ndarray, "item 2"]
    shares: Float[np.ndarray, " 2"]
    axes: Float[np.ndarray, "2 d_pooled"]  # unit length; zeros if there is no such component


def item_plane(vectors: Float[np.ndarray, "item d_pooled"]) -> ItemPlane:
    """Principal components (Pearson, 1901) of vectors from which their mean is subtracted.

    Each axis points so that its largest entry is positive, so the same set gives the same picture.
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
