"""Beside: a head's share of a score, and what removing it changes: carrying and steering."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from viz_encoder.effects import Effect
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult

LARGE = 0.2  # an effect is large from this part of the largest
LITTLE = 0.25  # of what a head that carries as much as it changes would carry
FEW = 3


@dataclass(frozen=True, eq=False, repr=False)
class Beside(ArrayResult, main="shares", table={"share": "shares", "effect": "effects"}):
    """What each head carried, and what changes when it is removed.

    A head with a large effect and a small share does not carry the answer: it steers where later
    heads look.

    shares: what each head brought to the score.
    effects: the measure with the head removed, minus that of the untouched run.
    correlation: of their absolute values, over all heads that were removed.
    steering: the heads that steer, largest effect first, as (layer, head).
    """

    shares: Float[np.ndarray, "layer head"]
    effects: Float[np.ndarray, "layer head"]
    correlation: float
    steering: tuple[tuple[int, int], ...]

    @property
    def sentence(self) -> str:
        """Which heads steer, in one sentence."""
        if not self.steering:
            return "No head with a large effect carries little: what matters here also carries."
        named = [
            f"{layer}.{head} (effect {self.effects[layer, head]:+.3g}, share "
            f"{self.shares[layer, head]:+.3g})"
            for layer, head in self.steering[:FEW]
        ]
        one = len(named) == 1
        heads, carry, them = ("Head", "carries", "it") if one else ("Heads", "carry", "them")
        said = f"{heads} {', '.join(named)} {carry} little of it, but removing {them} changes much"
        steers = "it steers" if one else "they steer"
        return f"{said}: {steers} where later heads look.".replace("-", "−")


def beside(shares: Float[np.ndarray, "layer head"], effect: Effect) -> Beside:
    """Shares beside effects; each is compared with the largest of its own kind."""
    effects = effect.mean
    if effects.shape != shares.shape:
        raise SelectionError(
            f"The effects are of {effects.shape[0]} × {effects.shape[1]} heads, the shares of "
            f"{shares.shape[0]} × {shares.shape[1]}; give the effects of the same model."
        )
    known = np.isfinite(effects)
    changes, carried = np.where(known, abs(effects), 0.0), abs(shares)
    changes = changes / max(changes.max(), np.finfo(float).tiny)
    carried = carried / max(carried.max(), np.finfo(float).tiny)
    steers = (changes >= LARGE) & (carried < LITTLE * changes)
    found = sorted(zip(*map(list, steers.nonzero()), strict=True), key=lambda at: -changes[at])
    both = changes[known], abs(shares)[known]
    varied = all(len(x) > 1 and x.std() > 0 for x in both)
    correlation = float(np.corrcoef(*both)[0, 1]) if varied else float("nan")
    return Beside(shares, effects, correlation, tuple((int(a), int(b)) for a, b in found))
