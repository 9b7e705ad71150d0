"""Why two texts are alike: the run's text and another, token by token, as plain data."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from viz_encoder.analyses.collection import collection
from viz_encoder.analyses.pooled import pooled
from viz_encoder.analyses.token_pairs import TokenPairs, token_pairs
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, TooLong, VizEncoderError
from viz_encoder.trace import Trace
from viz_encoder.trace.two_texts import two_texts
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.state.source import MAX_CHARACTERS
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.tabs.vectors.results import one_at_a_time
from viz_encoder.ui.tabs.vectors.set_items import BUILT_IN, example
from viz_encoder.ui.wire.arguments import parse_index
from viz_encoder.ui.wire.bytes import finite

Usual = dict[tuple[str, int], float]  # (method, layer)
_known: WeakKeyDictionary[LoadedEncoder, Usual] = WeakKeyDictionary()


def usual_cosines(encoder: LoadedEncoder) -> Usual:
    """The mean cosine of two texts of the built-in set on different topics, made once a model.

    Empty where this model cannot read them.
    """
    if encoder not in _known:
        try:
            _known[encoder] = _measured(encoder)
        except VizEncoderError:
            _known[encoder] = {}
    return _known[encoder]


def _measured(encoder: LoadedEncoder) -> Usual:
    found = collection(encoder, example(BUILT_IN))
    labels = np.array(found.labels)
    apart = labels[:, None] != labels
    means = {
        (method, state): float(np.nanmean(found.cosine(method, state)[apart]))
        for method in found.methods
        for state in found.states
    }
    return {place: mean for place, mean in means.items() if mean == mean}


LARGEST = 10  # pairs of words that are named


def token_pairs_plain(
    entry: Entry, other: object = "", method: object = "mean", layer: object = -1
) -> dict[str, Any]:
    """The cosine as a sum over pairs: in a sentence, its largest pairs, and MaxSim; no map.

    Args:
        entry: the run of the first text.
        other: the second text; without it, the texts of a pair are each read alone.
        method: a pooling that adds up tokens.
        layer: 0 = embeddings, -1 = the output.

    Raises:
        SelectionError: no such method or layer, one that is no sum, or the model is not here.
        InputError: a text that cannot be read.
    """
    encoder, at, both = _both(entry, other, layer)
    found = token_pairs(*both, str(method), state=at, encoder=encoder)
    return {**_plain(found), **_every_way(encoder, at, both)}


def alike_plain(entry: Entry, other: object, layer: object) -> dict[str, Any]:
    """How alike the run's text and another are by each pooling, also by those that are no sums."""
    return _every_way(*_both(entry, other, layer))


def _both(
    entry: Entry, other: object, layer: object
) -> tuple[LoadedEncoder, int, tuple[Trace, Trace]]:
    encoder = entry.model("compare it with another text")
    if not isinstance(other, str):
        raise InputError(f"The text is {type(other).__name__}, not text; type some text.")
    if len(other) > MAX_CHARACTERS:
        raise TooLong(f"The text has {len(other):,} characters; {MAX_CHARACTERS:,} are allowed.")
    last = encoder.config.n_layers
    at = last if layer == -1 else parse_index("layer", layer, last + 1)
    with one_at_a_time:  # may run the model, outside the queue of runs
        return encoder, at, two_texts(encoder, entry.trace, other)


def _every_way(
    encoder: LoadedEncoder, layer: int, both: tuple[Trace, Trace]
) -> dict[str, dict[str, float | None]]:
    """By each pooling: their cosine, and that of any two texts, which poolings differ in."""
    with one_at_a_time:
        usual = usual_cosines(encoder)
    alike = _alike(encoder, layer, both)
    return {"alike": alike, "usual": {name: usual.get((name, layer)) for name in alike}}


def _alike(
    encoder: LoadedEncoder, layer: int, both: tuple[Trace, Trace]
) -> dict[str, float | None]:
    """Cosine of the two texts by each pooling that both have; null = not defined."""
    one, other = (pooled(encoder, run, states=[layer]) for run in both)
    found = {}
    for name in one.methods:
        if name in other.methods:
            first, second = (each.vectors[name][0].astype(float) for each in (one, other))
            length = np.linalg.norm(first) * np.linalg.norm(second)
            found[name] = finite(first @ second / length) if length else None
    return found


def _plain(found: TokenPairs) -> dict[str, Any]:
    return {
        "sentence": printable(found.sentence),
        "cosine": found.cosine,
        "special": found.special_part,
        "method": found.method,
        "layer": found.state,
        "tokens": _named(found.trace),
        "others": _named(found.other),
        "top": [[printable(e.one), printable(e.other), e.part] for e in found.top(LARGEST)],
        "matches": [[each.token, each.nearest, each.cosine] for each in found.matches],
        "maxsim": finite(found.maxsim),
        "notes": [printable(note) for note in found.other.sample.notes],
    }


def _named(run: Trace) -> list[str]:
    return [printable(token) for token in run.tokens]
