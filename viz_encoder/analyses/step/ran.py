"""Context of a step: its layer and token, the state that entered, and its numbers on the CPU."""

import numpy as np
from jaxtyping import Float
from torch import Tensor

from viz_encoder.errors import SelectionError
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.recorded_parts import RecordedParts, WeightSource


def layer_of(trace: Trace, layer: int, head: int | None = None) -> LayerTrace:
    """The attention layer that ran.

    Raises:
        SelectionError: no such layer or head.
    """
    trace.attention(layer, head, rows=slice(0, 0))  # says so if there is no such
    return trace.layers[layer]


def require_ran(encoder: WeightSource, trace: Trace, token: int) -> None:
    """Refuse padding that torch left out of a recorded run, as it does with nested tensors.

    Raises:
        SelectionError: the token is such.
    """
    if isinstance(encoder, RecordedParts) and encoder.ragged and not trace.valid[token]:
        raise SelectionError(
            f"Token {token} is padding, which torch left out of this run; choose a real token."
        )


def state_of(
    encoder: WeightSource, trace: Trace, layer: int, token: int
) -> Float[Tensor, " d_model"]:
    """A token's hidden state after `layer` blocks, where the weights are, and of their type."""
    return trace.hidden(layer)[token].to(encoder.device, encoder.dtype)


def numbers(x: Tensor) -> Float[np.ndarray, "*axes"]:
    """Convert to float32 on the CPU."""
    return x.detach().float().cpu().numpy()


def numbers_or_none(x: Tensor | None) -> Float[np.ndarray, "*axes"] | None:
    """Like `numbers`, but passes None through."""
    return None if x is None else numbers(x)
