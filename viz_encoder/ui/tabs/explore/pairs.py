"""Cells, columns, rows and small maps of a held run, as a view shows them."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.column import column_blocks
from viz_encoder.analyses.overview import overview
from viz_encoder.analyses.survey import SIZE
from viz_encoder.arguments import Progress
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import AS_IT_RAN, MapView
from viz_encoder.trace.shown_map import row_of, shown_keys
from viz_encoder.trace.token_selection import place_of, shown_tokens
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire.arguments import parse_index


def parse_key(key: object, trace: Trace) -> int:
    """A key's number; in cross-attention, among the other sequence.

    Raises:
        SelectionError: no such key.
    """
    return parse_index("key", key, max(layer.k.shape[1] for layer in trace.layers))


def key_means(
    entry: Entry, key: int, view: MapView = AS_IT_RAN
) -> Iterator[Float[np.ndarray, "1 head"]]:
    """Mean weight on the key per layer; NaN if a layer has no such head or key.

    Raises:
        SelectionError: a special token, where these are hidden.
    """
    trace = entry.trace
    most = max(layer.n_heads for layer in trace.layers)
    for number, layer in enumerate(trace.layers):
        row = np.full((1, most), np.nan, dtype=np.float32)
        if key < layer.k.shape[1]:
            keys = shown_keys(trace, number, view)
            place = key if layer.cross else place_of(keys, key, trace, "key")
            means = entry.key_means(number, view)
            row[0, : len(means)] = means[:, place]
        yield row


ROWS = 512  # between two looks at whether it is still wanted


def column_of(trace: Trace, view: MapView, key: int) -> Iterator[np.ndarray]:
    """The weights on one key, query by query, with what the view hides, divides or merges."""
    if view.as_it_ran:
        return column_blocks(trace, view.layer, view.head, key)
    kept = shown_tokens(trace, hide_special=view.hide_special, words=view.words)
    at = place_of(kept, key, trace, "key")
    parts = (
        overview(
            *(trace, view.layer, view.head),
            rows=slice(start, start + ROWS),
            keys=slice(at, at + 1),
            size=ROWS,
            tokens=kept,
            renormalize=view.renormalize,
        )
        for start in range(0, len(kept), ROWS)
    )
    return (part.values[:, 0] for part in parts)


def joined(parts: Iterator[np.ndarray], tell: Progress) -> np.ndarray:
    """All parts, unless `tell` stops the work between two of them."""

    def each() -> Iterator[np.ndarray]:
        for part in parts:
            yield part
            tell(0.0)

    return np.concatenate(list(each()))


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
