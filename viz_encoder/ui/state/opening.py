"""The place a page opens on in a run: where a finding is, and there what brought most."""

from typing import Any

import numpy as np

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import VizEncoderError
from viz_encoder.trace.prediction_heads import tasks
from viz_encoder.ui.state.attributed import attribution_of
from viz_encoder.ui.state.examples import swap_of
from viz_encoder.ui.state.store import Entry

MOST_TOKENS = 256  # a longer run goes to its first finding after its first map
MOST_WORK = 8e9  # tokens × weights, half a second: of more the answer comes after the first map


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
    """The head that brought most to what the page asks for first, and the link by which it did."""
    if entry.encoder is None:
        return None
    n_weights = sum(each.numel() for each in entry.encoder.model.parameters())
    if entry.trace.n_tokens * n_weights > MOST_WORK:
        return None
    question = _question(entry, entry.encoder, query)
    try:
        found = attribution_of(entry, question)
    except VizEncoderError:
        return None  # the answer says why
    if len(found.names) > entry.trace.n_tokens:
        return None  # a twin of another length has columns of its own
    (layer, head), *_ = found.ranked(1)
    of_query = question["of"] == "state"
    rows = slice(query, query + 1) if of_query else slice(None)
    links = np.abs(found.links(layer, head, rows=rows))
    row, key = np.unravel_index(links.argmax(), links.shape)
    link = {"query": query if of_query else int(row), "key": int(key)}
    return {"layer": layer, "head": head, **link, "measure": "contribution"}


def _question(entry: Entry, encoder: LoadedEncoder, query: int) -> dict[str, Any]:
    """What the page asks first: a state, or an answer, against the text's counterpart if any."""
    texts, asked = entry.trace.sample.texts, tasks(encoder)
    if not asked:
        return {"of": "state", "token": query}
    swap = swap_of(texts[0]) if entry.plain and len(texts) == 1 else None
    return {"of": asked[0]} | ({"against": texts[0].replace(*swap)} if swap else {})
