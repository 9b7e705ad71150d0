"""The norm and the feed-forward network of one block, as they ran, with every number between."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.arguments import Most, public
from viz_encoder.config import Activation
from viz_encoder.errors import SelectionError
from viz_encoder.model.block import FeedForward
from viz_encoder.result import ArrayResult
from viz_encoder.shown import OneLine
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
    """Refuse padding that torch left out of a recorded run, as it does with nested tensors."""
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


@dataclass(frozen=True, eq=False, repr=False)
class NormStep(OneLine):
    """after = weight · (before − mean) / √(std² + eps) + bias.

    kind: "LayerNorm" (Ba et al., 2016, arXiv:1607.06450), or "RMSNorm" (Zhang & Sennrich, 2019,
    arXiv:1910.07467), which takes no mean off: mean is None, and std is √(mean(before²)).
    """

    kind: str
    mean: float | None
    std: float
    eps: float
    weight: Float[np.ndarray, " d_model"] | None
    bias: Float[np.ndarray, " d_model"] | None
    before: Float[np.ndarray, " d_model"]
    after: Float[np.ndarray, " d_model"]


def norm_step(
    norm: nn.Module, before: Float[Tensor, " d_model"]
) -> tuple[Float[Tensor, " d_model"], NormStep | None]:
    """The model's own norm and its numbers; None if there is no norm."""
    if isinstance(norm, nn.Identity):
        return before, None
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    after, wide = norm(before), before.double()
    layer = isinstance(norm, nn.LayerNorm)
    mean = wide.mean() if layer else torch.zeros_like(wide[0])
    bias = norm.bias if isinstance(norm, nn.LayerNorm) else None
    return after, NormStep(
        "LayerNorm" if layer else "RMSNorm",
        float(mean) if layer else None,
        float((wide - mean).square().mean().sqrt()),
        float(norm.eps or torch.finfo(before.dtype).eps),
        numbers_or_none(norm.weight),
        numbers_or_none(bias),
        numbers(before),
        numbers(after),
    )


@dataclass(frozen=True, eq=False, repr=False)
class FeedForwardStep(ArrayResult, main="after"):
    """out = W₂ · after + b₂, with after = act(before), or act(gate) · before where it is gated.

    before = W₁ · x + b₁ and gate = W_G · x + b_G, one number a unit. A unit is on where what the
    activation gives is above 0.
    """

    x: Float[np.ndarray, " d_model"]
    before: Float[np.ndarray, " d_ff"]
    gate: Float[np.ndarray, " d_ff"] | None
    after: Float[np.ndarray, " d_ff"]
    activation: Activation
    on: int
    out: Float[np.ndarray, " d_model"]

    @public
    def strongest(self, n: Most = 8) -> tuple[tuple[int, float], ...]:
        """The n units with the largest |after|, as (unit, after)."""
        order = np.argsort(-np.abs(self.after), kind="stable")[:n]
        return tuple((int(unit), float(self.after[unit])) for unit in order)


def feed_forward(
    network: FeedForward, x: Float[Tensor, " d_model"], activation: Activation
) -> tuple[Float[Tensor, " d_model"], FeedForwardStep]:
    """The network's addend and its hidden units, by the model's own modules."""
    before = network.up(x)
    gate = None if network.gate is None else network.gate(x)
    active = network.activation(before if gate is None else gate)
    after = active if gate is None else active * before
    out = network.down(after)
    found = FeedForwardStep(
        *(numbers(x), numbers(before), numbers_or_none(gate), numbers(after)),
        *(activation, int((active > 0).sum()), numbers(out)),
    )
    return out, found
