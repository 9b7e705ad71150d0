"""The feed-forward network of one token, unit by unit."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from viz_encoder.analyses.step.ran import numbers, numbers_or_none
from viz_encoder.arguments import Most, public
from viz_encoder.config import Activation
from viz_encoder.model.block import FeedForward
from viz_encoder.result import ArrayResult


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
