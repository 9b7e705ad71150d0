"""What carried an answer as the page draws it, and in the same form where heads look."""

from collections.abc import Mapping
from dataclasses import replace
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any

from viz_encoder.attribution.attribution import Attribution
from viz_encoder.attribution.routes import weight_routes
from viz_encoder.config import HeadPool
from viz_encoder.errors import SelectionError
from viz_encoder.export.explained import apart, drawn, looks, split, split_plain
from viz_encoder.figures.options import VIEWS, read_options
from viz_encoder.figures.view import parted
from viz_encoder.trace.prediction_heads import choose_head, tasks
from viz_encoder.ui.state.attributed import RUN, attribution_of
from viz_encoder.ui.state.readable import readable
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire.bytes import finite

MEASURES = ("contribution", "attention")
STRONGEST = 20


def explained(entry: Entry, given: Mapping[str, str]) -> dict[str, Any]:
    """The answer to a question, and its routes; the question's words are those of `vz.attribute`.

    nodes are "state column"; groups are the tokens of each column, one a token of a picture. By the
    measure "attention" the routes are those of weights alone.
    """
    measure = given.get("measure", "contribution")
    if measure not in MEASURES:
        raise SelectionError(
            f"There is no measure {shown(measure)}; choose {' or '.join(MEASURES)}."
        )
    question, options = asked(given)
    if measure == "attention":
        start = question.get("token", _read_at(entry, question.get("of", "")))
        names, routes = readable(entry.trace).tokens, weight_routes(entry.trace, start, **options)
        return looks(entry.trace, routes, names) | {"start": start}
    found = attribution_of(entry, question)
    return (
        split(found) | _beside(entry, question, found) | drawn(entry.trace, found.routes(**options))
    )


def _beside(entry: Entry, question: Mapping[str, Any], found: Attribution) -> dict[str, Any]:
    """What a distance of two runs is told beside.

    whole, alone: the length of what is apart in this run, and its parts; along: if
        the other is this run without its changes, how far they moved it along what it was, as a
        part of that length, which is the whole then: its effect.
    """
    if apart(found) != "distance":
        return {}
    alone = {name: value for name, value in question.items() if name != "against"}
    here = attribution_of(entry, alone)
    whole, parts = here.score, {"tokens": finite(here.tokens), "names": list(here.names)}
    told = {"whole": whole, "alone": {"score": whole, "large": here.large, **parts}}
    other = RUN.fullmatch(str(question["against"]))
    before = entry.store.get(other[1]) if other else None
    if before is None or before is entry or before.trace.n_tokens != entry.trace.n_tokens:
        return told
    if before.recipe != replace(entry.recipe, changes=()):
        return told
    was = attribution_of(before, alone).score
    along = (whole**2 + was**2 - found.score**2) / (2 * was)  # the law of cosines
    return {**told, "whole": was, "along": along / was - 1}


def _read_at(entry: Entry, of: str) -> int | None:
    """The token that a prediction head of the whole input reads; None where it reads several."""
    if entry.encoder is None or of not in tasks(entry.encoder):
        return None
    reads_cls = choose_head(entry.encoder, of).pool in (HeadPool.CLS, HeadPool.CLS_DIST)
    return 0 if reads_cls else None


def asked(given: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The question in a query, and the options of its routes."""
    view = VIEWS["routes"]
    known = {control.name for control in view.options}
    return parted(read_options(view, {name: each for name, each in given.items() if name in known}))


def attribute(
    runner: Runner,
    key: str,
    of: str = "",
    label: str = "",
    token: int | None = None,
    against: str = "",
    toward: str = "",
    through: str = "values",
) -> dict[str, Any]:
    """What carried an answer, a token's final state or the vector: its exact parts.

    of is "answer", "state" or "pooled"; against is another label, "runner-up" or another text;
    toward is a text along whose vector this one is split. tokens and biases add up to the score,
    unless through is "attention" (AttnLRP); states has a row before and after each block; heads is
    layer by head; links are the strongest, of through "values" alone.
    """
    question, _ = parted({"of": of, "label": label, "token": token, "against": against})
    own = {"toward": toward} if toward else {}
    if through != "values":  # the default stays out of the cache key, as on the page
        own["through"] = through
    found = attribution_of(runner.store.get(key), question | own)
    exact = found.through == "values"
    links = [link._asdict() for link in found.strongest(STRONGEST)] if exact else []
    return split_plain(found) | {"states": finite(found.states), "links": links}
