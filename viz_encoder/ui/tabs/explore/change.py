"""The change of a run against another, a number a head; both are reached by their keys alone."""

from dataclasses import replace

from viz_encoder.analyses.change import layer_change
from viz_encoder.analyses.compare import compare
from viz_encoder.errors import SelectionError
from viz_encoder.trace.map_view import AS_IT_RAN, MapView
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.explore.comparison import reference_of
from viz_encoder.ui.wire.arguments import parse_index
from viz_encoder.ui.wire.bytes import finite


def changes(
    store: TraceStore, key: str, reference: str, layer: object, view: MapView = AS_IT_RAN
) -> list[float | None]:
    """The total variation distance of every head of a layer, mean over the real queries.

    Runs of one length are compared place by place, others on the tokens that both have; `view` is
    what is hidden, renormalized and merged in both first.

    Raises:
        SelectionError: a run that is not held, no such layer, or other heads.
    """
    trace = store.get(key).trace
    chosen = parse_index("layer", layer, trace.n_layers)
    before = reference_of(store, reference)
    if before.n_layers != trace.n_layers:
        raise SelectionError(
            f"The reference has {before.n_layers} layers and this run has {trace.n_layers}; "
            "they cannot be compared head by head. Use a run of a model of the same size."
        )
    same = before.n_tokens == trace.n_tokens
    if same and view.as_it_ran:
        heads = layer_change(trace, before, chosen).heads
    else:
        both = compare(trace, before)
        places = tuple((at, at) for at in range(trace.n_tokens))
        heads = (replace(both, aligned=places) if same else both).layer(chosen, view)
    found: list[float | None] = finite(heads)
    return found
