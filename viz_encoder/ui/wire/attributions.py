"""Attributions of held runs as plain data, and as a named endpoint."""

from typing import Any

from viz_encoder.attribution.attribution import Attribution
from viz_encoder.figures.view import parted
from viz_encoder.ui.state.attributed import attribution_of
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.wire.bytes import finite

STRONGEST = 20


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


def split_plain(found: Attribution) -> dict[str, Any]:
    """A score and its parts over tokens and heads, for JSON."""
    return {
        "sentence": found.sentence,
        "words": found.words,
        "score": found.score,
        "unit": found.unit,
        "names": list(found.names),
        "tokens": finite(found.tokens),
        "biases": found.biases,
        "heads": finite(found.heads),
        "unexplained": found.unexplained,
    }


ENDPOINTS = (attribute,)
