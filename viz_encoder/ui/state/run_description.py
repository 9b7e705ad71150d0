"""Describes a run to the page, names and facts, and the place that the page opens on in it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple, TypedDict

import numpy as np

from viz_encoder.analyses.findings.reading import pronouns_of, read
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import VizEncoderError
from viz_encoder.inputs.text_rows import unknown_said
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.head_statistics import said
from viz_encoder.trace.map_view import SCALES, MapView
from viz_encoder.trace.prediction_heads import tasks
from viz_encoder.trace.token_selection import shown_tokens
from viz_encoder.ui.state.attributed import attribution_of
from viz_encoder.ui.state.examples import is_example, swap_of
from viz_encoder.ui.state.readable import printable, shortened
from viz_encoder.ui.state.recipe import ALONE
from viz_encoder.ui.state.store import Entry

MAX_LINK_CHARACTERS = 3000
MAX_NOTE = 1000
MAX_NOTES = 50


class RunDescription(TypedDict):
    """Everything the page needs of a run except the numbers, as core/payloads.d.ts tells it."""

    key: str
    kind: str
    link: dict[str, str]
    model: str
    device: str
    dtype: str
    kernel: str
    revision: str
    weights: str
    hasModel: bool
    tasks: list[str]
    unsplit: str
    masked: str
    changed: dict[str, Any] | None
    nLayers: int
    nHeads: int
    tokens: list[str]
    special: list[bool]
    valid: list[bool]
    segments: list[int]
    words: list[int | None]
    grid: dict[str, int] | None
    notes: list[str]
    swap: tuple[str, str] | None
    example: bool
    opening: dict[str, int | str] | None
    vocabulary: dict[str, Any]


def describe(key: str, entry: Entry, plain: str, without: Entry | None = None) -> RunDescription:
    """Everything the page needs but numbers; `plain` is the key of the run without changes."""
    trace, recipe, encoder = entry.trace, entry.recipe, entry.encoder
    sample, origin, grid = trace.sample, trace.origin, trace.grid
    as_read, notes = replace(recipe, **ALONE), _notes(trace)
    own_notes = (
        [] if without is None else [each for each in notes if each not in _notes(without.trace)]
    )
    own, link = as_read.to_link(), recipe.to_link()
    return {
        "key": key,
        "kind": recipe.source.kind,
        "link": _short(link, own, key),
        "model": shortened(origin.model),
        "device": shortened(origin.device),
        "dtype": shortened(origin.dtype),
        "kernel": shortened(origin.kernel),
        "revision": shortened(origin.revision),
        "weights": shortened(origin.weights),
        "hasModel": encoder is not None,
        "unsplit": entry.model_gone("split an answer") if encoder is None else "",
        "tasks": [] if encoder is None else [str(task) for task in tasks(encoder)],
        "masked": entry.masked.words if entry.masked else "",
        "changed": _changed(entry, plain, own_notes) if recipe.changes else None,
        "nLayers": trace.n_layers,
        "nHeads": trace.n_heads,
        "tokens": [shortened(token) for token in trace.tokens],
        "special": list(sample.special),
        "valid": trace.valid.tolist(),
        "segments": list(sample.segments),
        "words": list(sample.words),
        "grid": None
        if grid is None
        else {"rows": grid.n_rows, "cols": grid.n_cols, "prefix": grid.n_prefix},
        "notes": [each for each in notes if each not in own_notes],
        "swap": swap_of(link.get("a", "")) if recipe == as_read else None,
        "example": recipe == as_read and is_example(link),
        "opening": opening_of(entry),
        "vocabulary": _vocabulary(trace),
    }


def for_component(content: Mapping[str, Any]) -> str:
    """JSON without markup: Gradio looks for tags in the value of a component."""
    return json.dumps(content).replace("<", "\\u003c")


def statistics_said(trace: Trace, view: MapView) -> dict[str, dict[str, Any]]:
    """Names and texts of the head statistics, over the part of the run that a view keeps."""
    valid = trace.valid.cpu().numpy()
    shown = [at for (at,) in shown_tokens(trace, hide_special=view.hide_special) if valid[at]]
    switches = {"hide_special": view.hide_special, "renormalize": view.renormalize}
    return said(np.array(shown, np.int64), **switches)


def _notes(trace: Trace) -> list[str]:
    """What is noted of a run, each once, and no more than a page can show."""
    notes = list(dict.fromkeys((*trace.sample.notes, *trace.notes)))
    return [shortened(note, MAX_NOTE) for note in notes[:MAX_NOTES]]


def _changed(entry: Entry, plain: str, notes: list[str]) -> dict[str, Any]:
    """What was changed, and what is noted of that alone; among it, of words it made unknown."""
    sample = entry.trace.sample
    unknown = unknown_said(sample.tokens, sample.spans)
    said = {"notes": notes, "unknown": unknown if unknown in notes else ""}
    return {"plain": plain, "changes": entry.changes_said, **said}


def _vocabulary(trace: Trace) -> dict[str, Any]:
    return {
        "statistics": statistics_said(trace, MapView()),
        "scales": {name: asdict(scale) for name, scale in SCALES.items()},
    }


def _short(link: dict[str, str], own: dict[str, str], key: str) -> dict[str, str]:
    """The link's own text where it is short; else the key, under which the run is held."""
    if sum(map(len, own.values())) > MAX_LINK_CHARACTERS:
        made = {name: part for name, part in link.items() if name not in own}
        return {"kind": link["kind"], "model": shortened(link["model"]), **made, "run": key}
    return link | ({"run": key} if "run" in link else {})


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
