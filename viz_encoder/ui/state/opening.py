"""The place a page opens on in a run: where a finding is, and there what brought most."""

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
    """The link to this token that brought most to its final state, by the head that did."""
    if entry.encoder is None or entry.trace.n_tokens > MOST_SPLIT:
        return None
    try:
        found = attribution_of(entry, {"of": "state", "token": query}).routes()
    except VizEncoderError:
        return None  # the answer says why
    links = [edge for edge in found.edges if edge.query == query != edge.key]
    if not links:
        return None
    most = max(links, key=lambda edge: abs(edge.share))
    place = {"layer": most.layer, "head": most.head, "query": query, "key": most.key}
    return {**place, "measure": "contribution"}
