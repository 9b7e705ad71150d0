"""Attributions of held runs: kept for all views of one question."""

import re
from typing import Any

from viz_encoder.attribution import attribute
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.trace import Trace
from viz_encoder.ui.state.kept import Kept
from viz_encoder.ui.state.readable import readable
from viz_encoder.ui.state.store import Entry

RUN = re.compile(r"run:([\w-]{22})")  # what is subtracted is a run that is held, of this key
_KEPT: Kept[Attribution] = Kept(2)  # each holds as many gradients as its run holds values


def attribution_of(entry: Entry, question: dict[str, Any]) -> Attribution:
    """What `vz.attribute` finds for this question; against "run:KEY" is another held run.

    Raises:
        SelectionError: the model is not loaded here, or a question that it does not answer.
        Expired: the run to subtract is not held any more.
    """
    encoder = entry.model()
    other = RUN.fullmatch(str(question.get("against")))
    given = question | {"against": _run(entry, other[1])} if other else question
    return _KEPT.of(
        entry,
        tuple(question.items()),
        lambda: attribute(encoder, readable(entry.trace), **given),
    )


def _run(entry: Entry, key: str) -> Trace:
    return readable(entry.store.get(key).trace)
