"""A layer's small maps, and one query's rows in all its heads, of what a view keeps."""

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.overview import overview
from viz_encoder.analyses.survey import SIZE
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import AS_IT_RAN, MapView
from viz_encoder.trace.shown_map import row_of
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


def rows_of(
    trace: Trace, layer: int, query: int, view: MapView = AS_IT_RAN
) -> Float[np.ndarray, "head key"]:
    """One query's weights in every head of a layer, as a view shows them; NaN where masked."""
    merged = next(each for each in shown_tokens(trace, words=view.words) if query in each)
    return row_of(trace, layer, merged, view)
