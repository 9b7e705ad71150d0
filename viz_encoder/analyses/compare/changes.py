"""Changes between two runs: one cell in every head, or all of one head."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from viz_encoder.result import ArrayResult


@dataclass(frozen=True, eq=False, repr=False)
class CellChange(
    ArrayResult, main="change", table={"now": "now", "was": "was", "change": "change"}
):
    """One query's weight on one key in every head, 0 … 1, here and in the reference.

    NaN where the mask forbids the key, and in `was` and `change` where the query or the key has
    no partner.
    """

    now: Float[np.ndarray, "layer head"]
    was: Float[np.ndarray, "layer head"]
    change: Float[np.ndarray, "layer head"]  # now − was


@dataclass(frozen=True)
class HeadChange:
    """A head, and how far it changed: now − was of a cell, or a distance of rows, 0 … 1."""

    layer: int
    head: int
    change: float
