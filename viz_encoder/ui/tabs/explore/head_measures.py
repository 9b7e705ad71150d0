"""Measures of whole heads that are asked for one by one: a role's share, and similar heads."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_encoder.analyses.findings import role_shares
from viz_encoder.analyses.similar_heads import similar_layers
from viz_encoder.trace import Trace
from viz_encoder.ui.wire.bytes import finite

MOST_QUERIES = 512  # sampled evenly from longer texts to compare heads


def role_plain(trace: Trace, role: str, offset: int, layer: int) -> dict[str, Any]:
    """One layer's shares for JSON, null where there is none, and their number of queries."""
    found = role_shares(trace, role, offset=offset, layers=(layer,))
    n_heads = trace.layers[layer].n_heads
    return {"shares": finite(found.shares[0, :n_heads]), "queries": found.n_queries}


def distances(trace: Trace, layer: int, head: int) -> Iterator[np.ndarray]:
    """The Jensen–Shannon distance of every head to one, layer by layer."""
    return similar_layers(trace, layer, head, most_queries=MOST_QUERIES)


def similar_plain(distances: np.ndarray, trace: Trace) -> dict[str, Any]:
    """The distances for JSON, a list a layer, and over how many queries each is a mean."""
    n_queries = min(MOST_QUERIES, int(trace.valid.sum()))
    return {"distances": finite(distances), "queries": n_queries}
