"""Cells, columns, rows and small maps of a held run, as a view shows them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.column import column_blocks
from viz_encoder.analyses.overview import shown_part
from viz_encoder.analyses.survey import SIZE
from viz_encoder.arguments import Progress
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import AS_IT_RAN, MapView
from viz_encoder.trace.shown_map import shown_keys
from viz_encoder.trace.token_selection import place_of
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


ALL = slice(None)
ROWS = 512  # between two looks at whether it is still wanted


def column_of(trace: Trace, view: MapView, key: int) -> Iterator[np.ndarray]:
    """The weights on one key, query by query, with what the view hides, divides or merges."""
    if view.as_it_ran:
        return column_blocks(trace, view.layer, view.head, key)
    kept = view.kept(trace)
    at = place_of(kept, key, trace, "key")
    blocks = (slice(start, start + ROWS) for start in range(0, len(kept), ROWS))
    parts = (shown_part(trace, view, rows, slice(at, at + 1), ROWS) for rows in blocks)
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
    views = (replace(view, layer=layer, head=at) for at in range(trace.layers[layer].n_heads))
    return np.stack([shown_part(trace, each, ALL, ALL, SIZE).values for each in views])
