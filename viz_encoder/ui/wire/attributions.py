"""Attributions of held runs: kept for the figures of one question, and as a named endpoint."""

from typing import Any

from viz_encoder.attribution import attribute as split
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.figures.attributed import parted
from viz_encoder.ui.state.kept import Kept
from viz_encoder.ui.state.run_description import readable
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire.bytes import finite

_KEPT: Kept[Attribution] = Kept(2)  # each holds as many gradients as its run holds values
STRONGEST = 20


def attribution_of(entry: Entry, question: dict[str, Any]) -> Attribution:
    """What `vz.attribute` finds for this question.

    Raises:
        SelectionError: the model is not loaded here, or a question that it does not answer.
    """
    encoder = entry.model()
    return _KEPT.of(
        entry, tuple(question.items()), lambda: split(encoder, readable(entry.trace), **question)
    )


def attribute(
    runner: Runner,
    key: str,
    of: str = "",
    label: str = "",
    token: int | None = None,
    against: str = "",
) -> dict[str, Any]:
    """What carried an answer, a token's final state or the vector: its exact parts.

    of is "answer", "state" or "pooled"; against is another label, "runner-up" or another text.
    tokens and biases add up to the score; states has a row before and after each block; heads is
    layer by head; links are the strongest.
    """
    question, _ = parted({"of": of, "label": label, "token": token, "against": against})
    found = attribution_of(runner.store.get(key), question)
    return {
        "sentence": found.sentence,
        "score": found.score,
        "unit": found.unit,
        "names": list(found.names),
        "tokens": finite(found.tokens),
        "biases": found.biases,
        "states": finite(found.states),
        "heads": finite(found.heads),
        "links": [link._asdict() for link in found.strongest(STRONGEST)],
        "unexplained": found.unexplained,
    }


ENDPOINTS = (attribute,)
