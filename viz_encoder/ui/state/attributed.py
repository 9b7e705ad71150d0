"""Attributions of held runs: kept for all views of one question."""

from typing import Any

from viz_encoder.attribution import attribute
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.ui.state.kept import Kept
from viz_encoder.ui.state.readable import readable
from viz_encoder.ui.state.store import Entry

_KEPT: Kept[Attribution] = Kept(2)  # each holds as many gradients as its run holds values


def attribution_of(entry: Entry, question: dict[str, Any]) -> Attribution:
    """What `vz.attribute` finds for this question.

    Raises:
        SelectionError: the model is not loaded here, or a question that it does not answer.
    """
    encoder = entry.model()
    return _KEPT.of(
        entry,
        tuple(question.items()),
        lambda: attribute(encoder, readable(entry.trace), **question),
    )
