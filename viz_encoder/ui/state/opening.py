"""The pair a page opens on in a run: the first finding that names a head and two tokens."""

from viz_encoder.ui.state.store import Entry

MOST_TOKENS = 256  # a longer run goes to its first finding after its first map


def opening_of(entry: Entry) -> dict[str, int] | None:
    """The layer, head, query and key to show first; None where nothing stands out, or in time."""
    if entry.trace.n_tokens > MOST_TOKENS:
        return None
    for found in entry.findings():
        if found.query is not None and found.key is not None:
            place = {"layer": found.layer, "head": found.head}
            return {**place, "query": found.query, "key": found.key}
    return None
