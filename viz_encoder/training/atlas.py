"""Atlas: the maps of all layers and heads as one picture, for a log."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, UInt8

GAP, LEAST = 2, 32  # pixels between heads, and of a head's side at least
LOW, HIGH = np.array([247, 251, 255]), np.array([8, 48, 107])
NONE = np.array([225, 225, 225])  # gaps, and pairs that are masked


def atlas(
    layers: Sequence[Float[np.ndarray, "head row col"]],
) -> UInt8[np.ndarray, "height width 3"]:
    """A row a layer, a column a head; dark is the largest weight of all."""
    grown = [_grown(one) for one in layers]
    tall = max(one.shape[1] for one in grown) + GAP
    wide = max(one.shape[2] for one in grown) + GAP
    n_heads = max(len(one) for one in grown)
    stitched = np.full((len(grown) * tall, n_heads * wide), np.nan, dtype=np.float32)
    for number, layer in enumerate(grown):
        for head, cells in enumerate(layer):
            top, left = number * tall, head * wide
            stitched[top : top + cells.shape[0], left : left + cells.shape[1]] = cells
    most = float(np.nanmax(stitched)) if np.isfinite(stitched).any() else 1.0
    share = np.clip(np.nan_to_num(stitched / (most or 1.0)), 0.0, 1.0)[..., None]
    colors = np.where(np.isnan(stitched)[..., None], NONE, LOW + share * (HIGH - LOW))
    return colors.round().astype(np.uint8)


def _grown(
    layer: Float[np.ndarray, "head row col"],
) -> Float[np.ndarray, "head height width"]:
    """Each cell as a square of pixels, so that short texts can be seen."""
    factor = max(1, -(-LEAST // max(layer.shape[1:])))
    return layer.repeat(factor, axis=1).repeat(factor, axis=2)
