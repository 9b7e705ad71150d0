"""Computed beside held runs, and kept: attributions, and what changes did to the output."""

import re
from dataclasses import replace
from typing import Any

from viz_encoder.attribution import attribute
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.change import Change
from viz_encoder.effects.outcome import Outcome, outcome
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Inputs
from viz_encoder.trace import Trace
from viz_encoder.ui.state.expiring_store import Kept
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


PURPOSE = "make changes to it"
MASKED = "This run was made with a mask, but effects are measured without one; press Run to get it."


def runnable(entry: Entry) -> tuple[LoadedEncoder, Inputs]:
    """The model, and the inputs of the run without changes."""
    if entry.recipe.mask is not None:
        raise SelectionError(MASKED)
    reading = entry.read(PURPOSE)
    return reading.encoder, entry.recipe.untouched(reading)


def outcome_of(entry: Entry, changes: tuple[Change, ...] | None = None) -> Outcome:
    """Outcome of a run's changes, or of others in their place, which are run just for this."""
    reading, recipe = entry.read(PURPOSE), entry.recipe
    if changes is not None:
        recipe = replace(recipe, changes=changes)
    if not recipe.changes:
        raise SelectionError("No change is given; name at least one, such as changes=h3.0.")
    if recipe == entry.recipe and entry.inputs is not None:
        ran = entry.trace, entry.inputs
    else:
        made = recipe.run(reading)
        ran = made.trace, made.inputs
    before, mask = recipe.untouched(reading), recipe.passed(reading)
    return outcome(reading.encoder, before, ran, recipe.changes, mask)
