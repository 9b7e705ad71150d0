"""The plain run of one that was made from it: without a painted mask, and without any change."""

import threading
from dataclasses import replace

from viz_encoder.errors import Expired
from viz_encoder.trace import capture
from viz_encoder.ui.state.padded import padded_trace
from viz_encoder.ui.state.run_description import MADE_FROM
from viz_encoder.ui.state.store import Entry, TraceStore

RUNNING = threading.Lock()  # one forward pass of these and of masked runs at a time


def plain_of(store: TraceStore, key: str) -> tuple[str, Entry]:
    """The plain run that belongs to a run, and its key; a plain run is its own.

    It runs again where it was let go in the meantime.

    Raises:
        Expired: no such run.
    """
    entry = store.get(key)
    made = entry.masked or entry.changed
    if made is None:
        return key, entry
    try:
        return made.plain, store.get(made.plain)
    except Expired:  # let go in the meantime
        changed = entry.changed
        encoder = entry.encoder if changed is None else changed.encoder
        inputs = entry.inputs if changed is None else changed.inputs
        assert encoder is not None
        assert inputs is not None
        with RUNNING:
            if entry.padded is None:
                trace = capture(encoder, inputs)[0]
            else:
                trace = padded_trace(encoder, inputs, entry.padded)
    again = store.put(trace, encoder, inputs, entry.owners)
    store.get(again).padded = entry.padded
    own = [name for name in MADE_FROM if name != "pad"]
    store.get(again).link = {k: v for k, v in entry.link.items() if k not in own}
    if entry.masked is not None:
        entry.masked = replace(entry.masked, plain=again)
    elif entry.changed is not None:
        entry.changed = replace(entry.changed, plain=again)
    return again, store.get(again)
