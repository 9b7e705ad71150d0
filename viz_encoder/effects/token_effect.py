"""tokens: what changes when each is removed; flips: the fewest whose removal flips the answer."""

from dataclasses import dataclass
from itertools import combinations, islice
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import Progress, Token, at_least, at_most, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measure import Logits, MeasureArguments
from viz_encoder.effects.measures import Measured, NamedMeasure
from viz_encoder.effects.without_tokens import RemoveHow, WithoutTokens
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult, Columns, TableResult


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


MOST_TRIES = 2_000


@dataclass(frozen=True, repr=False)
class Flips(TableResult):
    """The smallest sets of tokens whose removal changes the answer, the most likely answer first.

    sets: positions of tokens; empty if no set of at most `most` tokens changes the answer.
    answers: the answer without each set, and how likely it is.
    tries: how many sets were tried.
    whole: whether all sets of that size were tried; False if the limit was reached first.
    """

    sets: tuple[tuple[int, ...], ...]
    answers: tuple[tuple[str, float], ...]
    untouched: tuple[str, float]
    tokens: tuple[str, ...]
    tries: int
    whole: bool

    def columns(self) -> Columns:
        """One line per set."""
        named = [" ".join(self.tokens[at] for at in places) for places in self.sets]
        answers, shares = zip(*self.answers, strict=True) if self.answers else ((), ())
        return {"tokens": named, "answer": list(answers), "share": list(shares)}


@public
def flips(
    encoder: LoadedEncoder,
    text: Any,
    *,
    most: Annotated[int, at_least(1), at_most(3)] = 3,
    how: RemoveHow = "attention",
    measure: NamedMeasure | None = None,
    at: Token | None = None,
    progress: Progress | None = None,
) -> Flips:
    """The fewest tokens whose removal changes what the prediction head answers.

    Sets are tried by size, those with the largest single effects first, at most 2,000 of them. Many
    sets may flip the answer; one that does is sufficient, but the model need not have used it.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        text: one input.
        most: the largest size of a set, 1 to 3.
        how, measure, at: as in `tokens`.
        progress: called with the share of the largest search that is done; the search ends
            sooner where a small set changes the answer. What it raises stops the search.

    Raises:
        SelectionError: a measure without answers, or an invalid size.
    """
    one = WithoutTokens(encoder, text, how, measure, MeasureArguments(at=at))
    if not isinstance(one.measure, Logits):
        raise SelectionError(
            f"This measure has no answer that could flip ({one.measure.words}); use a text with "
            "[MASK], or a classifier."
        )
    tries, order = 0, one.removable()
    for size in range(1, most + 1):
        wanted = list(islice(combinations(order, size), MOST_TRIES - tries))
        found = []
        for away in one.without(wanted):
            found.append(away)
            if progress is not None:
                progress((size - 1 + len(found) / len(wanted)) / most)
        tries += len(found)
        flipped = [each for each in found if each.said[0] != one.untouched[0]]
        whole = tries < MOST_TRIES
        if flipped or not whole:
            break
        if size == 1:
            order = [each.places[0] for each in sorted(found, key=lambda each: each.value)]
    flipped.sort(key=lambda each: -each.said[1])
    return Flips(
        tuple(tuple(sorted(each.places)) for each in flipped),
        tuple(each.said for each in flipped),
        one.untouched,
        one.names,
        tries,
        whole,
    )
