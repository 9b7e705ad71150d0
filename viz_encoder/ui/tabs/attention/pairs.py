"""One cell in every head of a held run, beside what is usual there, which its survey has summed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.pair import Pair
from viz_encoder.trace import Trace
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire.arguments import parse_index
from viz_encoder.ui.wire.bytes import finite


def parse_key(key: object, trace: Trace) -> int:
    """A key's number; in cross-attention, among the other sequence.

    Raises:
        SelectionError: no such key.
    """
    return parse_index("key", key, max(layer.k.shape[1] for layer in trace.layers))


def key_means(entry: Entry, key: int) -> Iterator[Float[np.ndarray, "1 head"]]:
    """What the key gets on average, layer by layer; NaN where a layer has no such head or key."""
    most = max(layer.n_heads for layer in entry.trace.layers)
    for number in range(entry.trace.n_layers):
        means, row = entry.key_means(number), np.full((1, most), np.nan, dtype=np.float32)
        if key < means.shape[1]:
            row[0, : len(means)] = means[:, key]
        yield row


def plain_pair(found: Pair) -> dict[str, Any]:
    """Its numbers for JSON, a list a layer; null where there is none."""
    return {name: finite(getattr(found, name)) for name in ("weights", "means", "ratios")}
