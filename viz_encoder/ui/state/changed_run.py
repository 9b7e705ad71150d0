"""Changed runs: the input of a run once more with changes."""

from collections.abc import Sequence

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.change import Change, changes_of
from viz_encoder.effects.changed_capture import capture_changed
from viz_encoder.effects.outcome import Outcome, outcome
from viz_encoder.effects.switched import as_switched
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Inputs
from viz_encoder.trace import Trace
from viz_encoder.ui.state.changed import RUNNING, Changed
from viz_encoder.ui.state.plain_run import plain_of
from viz_encoder.ui.state.store import Entry, TraceStore

PURPOSE = "make changes to it"
MASKED = (
    "This run was made with a mask, but changes start from a run without one; press Run to get it."
)


def runnable(entry: Entry) -> tuple[LoadedEncoder, Inputs]:
    """The model, and the inputs of the unchanged run.

    Raises:
        SelectionError: a run whose model is not here, or that was made with a mask.
    """
    if entry.changed is not None:
        return entry.changed.encoder, entry.changed.inputs
    if entry.masked is not None:
        raise SelectionError(MASKED)
    if entry.encoder is None or entry.inputs is None:
        raise SelectionError(entry.model_gone(PURPOSE))
    return entry.encoder, entry.inputs


def parsed(entry: Entry, codes: Sequence[object]) -> list[Change]:
    """The changes of these codes, for the run without any.

    Raises:
        SelectionError: what is no code, or is not there.
    """
    encoder, inputs = runnable(entry)
    config = encoder.config
    return changes_of(codes, inputs.samples[0], config.n_layers, config.n_heads)


def run_changed(store: TraceStore, key: str, codes: Sequence[object]) -> str:
    """Run the input of a run with these changes; returns the new run's key, or the plain one's.

    Raises:
        SelectionError: no such run, or its model is not here; no such change.
    """
    entry = store.get(key)
    encoder, inputs = runnable(entry)
    changes = parsed(entry, codes)
    plain_key, plain = plain_of(store, key)
    if not changes:
        return plain_key
    trace, entered = _captured(encoder, inputs, changes)
    ran = as_switched(encoder, changes)
    made = store.put(trace, ran, owners=entry.owners)
    kept = store.get(made)
    kept.changed = Changed(tuple(changes), plain_key, encoder, inputs, entered, ran)
    kept.link = {**plain.link, "cut": ",".join(kept.changed.codes)}
    return made


def outcome_of(entry: Entry, codes: Sequence[object] | None = None) -> Outcome:
    """Outcome of changes: those of a changed run, or others, which are run just for this.

    Raises:
        SelectionError: no change at all, or one that is not there.
    """
    encoder, inputs = runnable(entry)
    if codes is None and entry.changed is not None:
        changed = entry.changed
        return outcome(encoder, inputs, (entry.trace, changed.entered), changed.changes)
    changes = parsed(entry, codes or ())
    if not changes:
        raise SelectionError("No change is given; name at least one, such as changes=h3.0.")
    return outcome(encoder, inputs, _captured(encoder, inputs, changes), changes)


def _captured(
    encoder: LoadedEncoder, inputs: Inputs, changes: Sequence[Change]
) -> tuple[Trace, Inputs]:
    with RUNNING:
        return capture_changed(encoder, inputs, changes)
