"""tokens: what changes when each token is removed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import Progress, Token, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measure import MeasureArguments
from viz_encoder.effects.measures import Measured
from viz_encoder.effects.without_tokens import RemoveHow, WithoutTokens
from viz_encoder.result import ArrayResult, Columns


@dataclass(frozen=True, eq=False, repr=False)
class TokenEffect(ArrayResult, main="values"):
    """The effect of removing each token. np.asarray(effect) gives the values.

    values: the measure with the token removed, minus that of the untouched run; NaN where the token
        cannot be removed.
    answers: the prediction head's answer then, "" where the measure has none.
    shares: how likely that answer is.
    untouched: answer and share of the untouched run.
    labels: the two answers that are compared, ("", "") without a prediction head.
    pair: how likely each of these two is.
    """

    values: Float[np.ndarray, " token"]
    answers: np.ndarray  # str: "token"
    shares: Float[np.ndarray, " token"]
    before: float
    untouched: tuple[str, float]
    tokens: tuple[str, ...]
    measure: str
    how: str
    labels: tuple[str, str]
    pair: Float[np.ndarray, "token 2"]

    def columns(self) -> Columns:
        """One line per token."""
        return {
            "token": list(self.tokens),
            "effect": self.values.tolist(),
            "after": (self.values + self.before).tolist(),
            "answer": self.answers.tolist(),
            "share": self.shares.tolist(),
        }


@public
def tokens(
    encoder: LoadedEncoder,
    text: Any,
    *,
    how: RemoveHow = "attention",
    measure: Measured | None = None,
    answer: str | None = None,
    other: str | None = None,
    at: Token | None = None,
    pooling: str | None = None,
    progress: Progress | None = None,
) -> TokenEffect:
    """Remove each token on its own, run the model again, and measure what changed.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        text: one input.
        how: "attention": no token may attend to it, in any layer; "mask": [MASK] replaces it. The
            first changes nothing that enters the model; the second is a text that the model may
            have seen in training.
        measure, answer, other, at, pooling, progress: as in `effect`.

    Raises:
        SelectionError: no such way or measure, or a model without [MASK].
    """
    one = WithoutTokens(encoder, text, how, measure, MeasureArguments(answer, other, at, pooling))
    places = one.removable()
    values = np.full(len(one.names), np.nan)
    shares, answers = values.copy(), np.full(len(values), "", dtype=object)
    pair = np.full((len(values), 2), np.nan)
    for number, away in enumerate(one.without([(place,) for place in places])):
        (place,) = away.places
        values[place] = away.value - one.before
        answers[place], shares[place] = away.said
        pair[place] = away.pair
        if progress is not None:
            progress((number + 1) / len(places))
    return TokenEffect(
        values,
        answers,
        shares,
        one.before,
        one.untouched,
        one.names,
        one.measure.words,
        how,
        one.labels,
        pair,
    )
