"""Masked runs: the same input once more with a mask."""

from jaxtyping import Bool
from torch import Tensor

from viz_encoder.errors import InputError, SelectionError
from viz_encoder.trace import capture
from viz_encoder.trace.mask_scope import MaskScope
from viz_encoder.ui.state.mask_link import mask_code
from viz_encoder.ui.state.mask_mistake import Masked, Mistake, planted
from viz_encoder.ui.state.padded import padded_trace
from viz_encoder.ui.state.plain_run import RUNNING, plain_of
from viz_encoder.ui.state.store import TraceStore

PURPOSE = "try a mask on it"
CHANGED = "This is a changed run; restore it first, then paint a mask."
TOO_LARGE = "large"  # in place of a mask too large for a link


def run_masked(
    store: TraceStore,
    key: str,
    intent: Bool[Tensor, "query key"],
    mistake: Mistake,
    scope: str = "",
) -> str:
    """Run the input of a run with a mask, or with the mistake; returns the new run's key.

    `scope` names layers and heads, such as "3-5:1,4"; all others run without the mask.

    Raises:
        SelectionError: no such run, layer or head, or its model is not here.
        InputError: the mask is not of the run's size.
    """
    entry = store.get(key)
    if entry.changed is not None:
        raise SelectionError(CHANGED)
    if entry.encoder is None or entry.inputs is None:
        raise SelectionError(entry.model_gone(PURPOSE))
    n = entry.trace.n_tokens
    if tuple(intent.shape) != (n, n):
        raise InputError(f"The mask has shape {tuple(intent.shape)}; this run needs {(n, n)}.")
    places = MaskScope.parsed(scope, entry.trace.n_layers, entry.trace.n_heads)
    plain_key, plain = plain_of(store, key)
    passed = planted(intent, mistake)
    with RUNNING:
        mask = None if passed is None else places.mask(passed)
        if plain.padded is None:
            trace = capture(entry.encoder, entry.inputs, mask=mask)[0]
        else:
            trace = padded_trace(entry.encoder, entry.inputs, plain.padded, mask)
    made = store.put(trace, entry.encoder, entry.inputs, entry.owners)
    kept = store.get(made)
    kept.padded = plain.padded
    kept.masked = Masked(intent, mistake, plain_key, places)
    also = {"mistake": "" if mistake is Mistake.NONE else str(mistake), "scope": places.code}
    parts = {"ran": mask_code(intent) or TOO_LARGE, **{k: v for k, v in also.items() if v}}
    kept.link = {**plain.link, "run": "", **parts}
    return made
