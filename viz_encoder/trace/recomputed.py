"""Numbers of a run, computed again: by which model, and how far from what ran they may be."""

from contextlib import AbstractContextManager

import torch
from torch import Tensor

from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.trace.capture import at_rest
from viz_encoder.trace.recorded_parts import RecordedParts, Source
from viz_encoder.trace.same_model import require_made_by
from viz_encoder.trace.trace import Trace

TOLERANCE = 1e-4  # of the largest value; in half precision, 16 of its roundings


def require_model(encoder: Source, trace: Trace) -> None:
    """Refuse a run that this model cannot have made.

    Raises:
        SelectionError: a trace of another model, of cross-attention, or without hidden states.
    """
    if any(layer.cross for layer in trace.layers):
        raise SelectionError(
            "A block is followed through self-attention; this run is of cross-attention."
        )
    if isinstance(encoder, RecordedParts):
        if encoder is not trace.parts:
            raise SelectionError(
                "These parts are from another recording; give trace.parts of this trace."
            )
        return
    require_made_by(encoder, trace, trace.layers[0], trace.hidden(0).shape[-1])


def resting(encoder: Source) -> AbstractContextManager[None]:
    """Without dropout and without gradients."""
    if isinstance(encoder, RecordedParts):
        return torch.inference_mode()
    return at_rest(encoder.model)


def apart(found: Tensor, ran: Tensor) -> float:
    """The largest difference from what ran, by its largest value."""
    found, ran = found.detach().double().cpu(), ran.detach().double().cpu()
    largest = ran.abs().max().clamp_min(torch.finfo(torch.float32).tiny)
    return float((found - ran).abs().max() / largest)


def require_as_ran(found: float, what: str, dtype: torch.dtype) -> None:
    """Refuse numbers that are not those of the run.

    Raises:
        TraceError: they differ by more than rounding.
    """
    allowed = max(TOLERANCE, 16 * torch.finfo(dtype).eps)
    if not found <= allowed:  # NaN too
        raise TraceError(
            f"{what}, recomputed, differs from what ran by {found:.2g} of the largest value "
            f"(rounding would explain {allowed:.2g}), so it is not shown. Give the model that "
            "ran, with the weights and the input it ran with."
        )
