"""One query's row of each measure, and a layer's small maps of what a view keeps."""

from reprlib import repr as shown  # truncates: client input can be of any length

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.overview import overview, row
from viz_encoder.analyses.rollout import rollout
from viz_encoder.analyses.survey import SIZE
from viz_encoder.analyses.value_weighted import value_weighted
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import AS_IT_RAN, Head, MapView
from viz_encoder.trace.shown_map import row_of
from viz_encoder.trace.token_selection import shown_tokens
from viz_encoder.ui.state.attributed import attribution_of
from viz_encoder.ui.state.expiring_store import Kept
from viz_encoder.ui.state.store import HEAD_REMOVED, Entry

MEASURES = ("weight", "value", "rollout", "share")
MAX_ROLLOUT_TOKENS = 4096  # one query's rollout walks through all maps, many times


class Measures:
    """Measures of held runs; what took long is kept for as long as its run, the last few of it."""

    def __init__(self) -> None:
        self._kept: Kept[Float[np.ndarray, "layer key"]] = Kept(6)  # all layers each

    def of(
        self, entry: Entry, measure: str, layer: int, head: Head, query: int
    ) -> Float[np.ndarray, " key"]:
        """One query's row: the measure of each key after that layer.

        "weight" and "value" are of one head, the mean of several or the largest of all; "rollout"
        joins all heads of all layers up to this one, and "share" all of the model.

        Raises:
            SelectionError: no such measure, or the model that ran is not here.
            TooLong: more tokens than the measure is computed for.
        """
        match measure:
            case "weight":
                return row(entry.trace, layer, head, query).weights
            case "value":
                return _value(entry, layer, head, query)
            case "rollout":
                return self._kept.of(entry, (measure, query), lambda: _rollout(entry, query))[layer]
            case "share":
                return self._kept.of(entry, (measure, query), lambda: _share(entry, query))[0]
        raise SelectionError(f"There is no measure {shown(measure)}; choose {', '.join(MEASURES)}.")


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


def _value(entry: Entry, layer: int, head: Head, query: int) -> Float[np.ndarray, " key"]:
    """‖α · v · W_O‖ of one head, or the mean or the largest of several; NaN where masked."""
    encoder, trace = entry.model(), entry.trace
    if any(its == layer for its, _ in entry.removed):
        raise SelectionError(HEAD_REMOVED)
    one, rows = head if isinstance(head, int) else None, slice(query, query + 1)
    each = value_weighted(encoder, trace, layer, one, rows).norms[..., 0, :]
    if one is not None:
        each = each[None]
    each = each[list(head)] if isinstance(head, tuple) else each
    norms = np.max(each, axis=0) if head == "max" else np.mean(each, axis=0)
    allowed = ~np.isnan(row(trace, layer, head, query).weights)
    return np.where(allowed, norms, np.nan).astype(np.float32)


def _rollout(entry: Entry, query: int) -> Float[np.ndarray, "layer key"]:
    if entry.trace.n_tokens > MAX_ROLLOUT_TOKENS:
        raise TooLong(
            f"This run has {entry.trace.n_tokens:,} tokens; the page computes rollout up to "
            f"{MAX_ROLLOUT_TOKENS:,}. In Python, viz_encoder.analyses.rollout has no limit."
        )
    return rollout(entry.trace, query).rows


def _share(entry: Entry, query: int) -> Float[np.ndarray, "1 key"]:
    """Each token's share of the query's final state, as a part of that state's length."""
    found = attribution_of(entry, {"of": "state", "token": query})
    return (found.tokens / found.score)[None].astype(np.float32)


MEASURED = Measures()  # of routes and endpoints alike
