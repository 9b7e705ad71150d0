"""Whether two traces are of the same run: equal masks and, up to rounding, equal numbers."""

from collections.abc import Iterator

import torch
from torch import Tensor

from viz_encoder.shown import small
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.trace import Trace

# Relative to each tensor's largest value: other processors round float32 by 1e-6 of it, while
# removing a head changes all-MiniLM-L6-v2 by at least 8e-3. Masks are compared exactly.
TOLERANCE = 1e-5
NUMBERS = ("q", "k", "v", "bias", "relative", "sink", "maps")


def why_another_run(saved: Trace, again: Trace) -> str:
    """How two runs differ, as the end of a sentence; "" if they do not."""
    if _sizes(saved) != _sizes(again):
        return "its sizes are others"
    layers = list(zip(saved.layers, again.layers, strict=True))
    if not torch.equal(saved.valid.cpu(), again.valid.cpu()) or not all(
        _same_mask(one, other) for one, other in layers
    ):
        return "it ran with a mask of its own"
    if any(one.scale != other.scale for one, other in layers):
        return "its scores were divided by another number"
    apart = max(_apart(one, other) for one, other in _pairs(saved, again))
    if apart <= TOLERANCE:
        return ""
    return (
        f"its numbers differ by up to {small(apart, 0)} of the largest, as with other weights or "
        "after a change"
    )


def _sizes(trace: Trace) -> list[object]:
    """Shapes of all tensors, including which exist."""
    states = [tuple(state.shape) for state in (*trace.hidden_states, trace.output)]
    parts = [_shape(getattr(layer, part)) for layer in trace.layers for part in NUMBERS]
    return [*states, *parts]


def _shape(tensor: Tensor | None) -> tuple[int, ...] | None:
    return None if tensor is None else tuple(tensor.shape)


def _same_mask(one: LayerTrace, other: LayerTrace) -> bool:
    if one.mask is None or other.mask is None:
        return one.mask is other.mask
    return torch.equal(*torch.broadcast_tensors(one.mask.cpu(), other.mask.cpu()))


def _pairs(saved: Trace, again: Trace) -> Iterator[tuple[Tensor, Tensor]]:
    yield from zip(saved.hidden_states, again.hidden_states, strict=True)
    yield saved.output, again.output
    for one, other in zip(saved.layers, again.layers, strict=True):
        for part in NUMBERS:
            mine, theirs = getattr(one, part), getattr(other, part)
            if mine is not None and theirs is not None:
                yield mine, theirs


def _apart(one: Tensor, other: Tensor) -> float:
    """Largest difference relative to the largest value; inf if one is NaN."""
    expected = other.double().cpu()
    if not expected.numel():
        return 0.0
    apart = float((one.double().cpu() - expected).abs().max())
    return apart / max(float(expected.abs().max()), 1e-12) if apart == apart else float("inf")
