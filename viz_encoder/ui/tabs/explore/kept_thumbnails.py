"""Thumbnails of a layer with special tokens hidden, rows renormalized or sub-words merged."""

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.overview import overview
from viz_encoder.analyses.survey import SIZE
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView
from viz_encoder.trace.token_selection import shown_tokens


def kept_thumbnails(trace: Trace, layer: int, view: MapView) -> Float[np.ndarray, "head row col"]:
    """Each head's map of what the view keeps, pooled by max to at most SIZE cells a side.

    Raises:
        SelectionError: the view keeps no token.
    """
    kept = shown_tokens(trace, hide_special=view.hide_special, words=view.words)
    heads = [
        overview(
            *(trace, layer, head),
            rows=slice(0, len(kept)),
            keys=slice(0, len(kept)),
            size=SIZE,
            tokens=kept,
            renormalize=view.renormalize,
        ).values
        for head in range(trace.layers[layer].n_heads)
    ]
    return np.stack(heads)
