"""The place a page opens on in a run: a word worth asking about, and there what brought most."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_encoder.analyses.findings.reading import pronouns_of, read
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import VizEncoderError
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.prediction_heads import tasks
from viz_encoder.ui.state.attributed import attribution_of
from viz_encoder.ui.state.examples import swap_of
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.state.store import Entry

MOST_TOKENS = 256  # a longer run goes to its first finding after its first map
MOST_WORK = 8e9  # tokens × weights, half a second: of more the answer comes after the first map
OTHERS = "click another word to ask about it"


class Place(NamedTuple):
    """A cell of a map."""

    layer: int
    head: int
    query: int
    key: int


def opening_of(entry: Entry) -> dict[str, int | str] | None:
    """The layer, head, query and key to show first, and why; None where nothing is, or in time."""
    if entry.trace.n_tokens > MOST_TOKENS:
        return None
    links = [
        Place(one.layer, one.head, one.query, one.key)
        for one in entry.findings()
        if one.query is not None and one.key is not None
    ]
    asked = _asked(entry.trace, links)
    brought = _brought(entry, *asked) if asked else None
    return brought or (links[0]._asdict() if links else None)


def _asked(trace: Trace, links: Sequence[Place]) -> tuple[int, str] | None:
    """The token to ask about, and why it: a pronoun, else one that a head links, else the first.

    Of several pronouns: one that a head links, else the first that a word stands before.
    """
    reading = read(trace)
    words, linked = reading.word.tolist(), [one.query for one in links]
    pronouns = [] if trace.grid else pronouns_of(reading, trace.sample)
    after = [at for at in pronouns if bool(reading.telling[:at].any())]
    of_link = [at for at in linked if words.count(words[at]) == 1] + linked
    telling = [] if trace.grid else reading.telling.nonzero().flatten().tolist()
    for at in (*(at for at in linked if at in pronouns), *after, *pronouns):
        return at, "a pronoun"
    for at in of_link:
        link = links[linked.index(at)]
        key = quoted(printable(reading.names[link.key]))
        return at, f"which head {link.layer}.{link.head} links to {key}"
    return (telling[0], "the first word") if telling else None


def _brought(entry: Entry, query: int, why: str) -> dict[str, int | str] | None:
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
    of_query = "token" in question
    rows = slice(query, query + 1) if of_query else slice(None)
    links = np.abs(found.links(layer, head, rows=rows))
    row, key = np.unravel_index(links.argmax(), links.shape)
    link = {"query": query if of_query else int(row), "key": int(key)}
    said = f"Asked about {quoted(printable(entry.trace.tokens[query]))}, {why}; {OTHERS}."
    asked = {"why": said} if question["of"] == "state" else {}
    return {"layer": layer, "head": head, **link, "measure": "contribution", **asked}


def _question(entry: Entry, encoder: LoadedEncoder, query: int) -> dict[str, Any]:
    """What the page asks first: a state, or an answer, against the text's counterpart if any."""
    texts, asked = entry.trace.sample.texts, tasks(encoder)
    if not asked:
        return {"of": "state", "token": query}
    if asked[0] != "classify" and not any(read(entry.trace).masked):
        return {"of": asked[0], "token": query}
    swap = swap_of(texts[0]) if entry.plain and len(texts) == 1 else None
    return {"of": asked[0]} | ({"against": texts[0].replace(*swap)} if swap else {})
