"""Padded runs: the input of a run once more with real [PAD] tokens beside it."""

import re
from reprlib import repr as shown  # truncates: client input can be of any length

from viz_encoder.errors import SelectionError
from viz_encoder.ui.state.padded import SIDES, Padded, padded_inputs, padded_trace, side_of
from viz_encoder.ui.state.plain_run import RUNNING, plain_of
from viz_encoder.ui.state.store import TraceStore

CODE = re.compile(r"(end|start):(\d{1,5})", re.ASCII)
NO_PAD = "Only texts are padded, by a model whose tokenizer has a padding token that it ignores."


def run_padded(store: TraceStore, key: str, code: str) -> str:
    """Run the input of a run with [PAD] beside it, and no mask; returns the new run's key.

    Of a run that was made from another one, that other one is padded. The new run attends to its
    padding, as a model does that is given no mask; which tokens are padding is known all the same.

    Raises:
        SelectionError: no such run, or it cannot be padded.
        TooLong: more tokens than the model reads.
    """
    found = CODE.fullmatch(code)
    if found is None:
        raise SelectionError(f"{shown(code)} is not a padding code; write end:2 or start:2.")
    side, count = found[1], int(found[2])
    key, entry = plain_of(store, key)
    if entry.padded is not None:
        key = entry.padded.alone
        entry = store.get(key)
    if side not in (side_of(entry.encoder, entry.inputs, name) for name in SIDES):
        raise SelectionError(NO_PAD)
    if not count:
        return key
    assert entry.encoder is not None
    assert entry.inputs is not None
    inputs = padded_inputs(entry.encoder, entry.inputs, side, count)
    padded = Padded(side, count, key)
    with RUNNING:
        trace = padded_trace(entry.encoder, inputs, padded)
    made = store.put(trace, entry.encoder, inputs, entry.owners)
    kept = store.get(made)
    kept.padded = padded
    kept.link = {**entry.link, "run": "", "pad": padded.code}
    return made
