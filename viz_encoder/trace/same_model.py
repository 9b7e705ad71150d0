"""Whether a run can be one of a model: what reads both must not mix two models up."""

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import SelectionError
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.trace import Trace


def require_made_by(encoder: LoadedEncoder, trace: Trace, ran: LayerTrace, width: int) -> None:
    """Refuse a run whose sizes are not those of the model.

    Args:
        encoder: the model.
        trace: the run.
        ran: one of its layers.
        width: of its states.

    Raises:
        SelectionError: the run is of another model.
    """
    config = encoder.config
    found = trace.n_layers, ran.n_heads, ran.v.shape[-1], width
    expected = config.n_layers, config.n_heads, config.d_head, config.d_model
    if found != expected:
        raise SelectionError(
            f"This run has {_sizes(*found)}, but {encoder.card.name} has {_sizes(*expected)}; "
            "give the model that ran."
        )


def _sizes(n_layers: int, n_heads: int, d_head: int, d_model: int) -> str:
    return f"{n_layers} layers of {n_heads} heads, d_head {d_head}, d_model {d_model}"
