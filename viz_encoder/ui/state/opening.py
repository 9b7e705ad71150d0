"""The place a page opens on in a run: where a finding is, and there what brought most."""

import numpy as np

from viz_encoder.errors import VizEncoderError
from viz_encoder.ui.state.attributed import attribution_of
from viz_encoder.ui.state.store import Entry

MOST_TOKENS = 256  # a longer run goes to its first finding after its first map
MOST_SPLIT = 64  # of a longer run the answer comes after the first map


def opening_of(entry: Entry) -> dict[str, int | str] | None:
    """The layer, head, query and key to show first; None where nothing stands out, or in time."""
    if entry.trace.n_tokens > MOST_TOKENS:
        return None
    for found in entry.findings():
        if found.query is not None and found.key is not None:
            place = {"layer": found.layer, "head": found.head, "query": found.query}
            return _brought(entry, found.query) or {**place, "key": found.key}
    return None


def _brought(entry: Entry, query: int) -> dict[str, int | str] | None:
    """The head that brought most to this token's final state, and the link by which it did."""
    if entry.encoder is None or entry.trace.n_tokens > MOST_SPLIT:
        return None
    try:
        found = attribution_of(entry, {"of": "state", "token": query})
    except VizEncoderError:
        return None  # the answer says why
    (layer, head), *_ = found.ranked(1)
    (row,) = np.abs(found.links(layer, head, rows=slice(query, query + 1)))
    place = {"layer": layer, "head": head, "query": query, "key": int(row.argmax())}
    return {**place, "measure": "contribution"}
