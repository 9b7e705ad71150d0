"""tokens: what changes when each token is removed; and the fewest tokens that flip the answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.logits import Logits
from viz_encoder.effects.measure import Asked, Measure
from viz_encoder.effects.measures import measure_of, require_number
from viz_encoder.effects.rerun import BATCH_TOKENS, Progress, Rerun
from viz_encoder.effects.sources import encoder_of, read
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import TextReader
from viz_encoder.result import ArrayResult, Columns, TableResult
from viz_encoder.trace.capture import arguments, at_rest
from viz_encoder.trace.prediction_heads import MASKS

How = Literal["attention", "mask"]
HOW = ("attention", "mask")
MOST_TRIES = 2_000


@dataclass(frozen=True, eq=False, repr=False)
class TokenEffect(ArrayResult, TableResult, main="values"):
    """The effect of removing each token. np.asarray(effect) gives the values.

    values: the measure with the token removed, minus that of the untouched run; NaN where the token
        cannot be removed.
    answers: the prediction head's answer then, "" where the measure has none.
    shares: how likely that answer is.
    untouched: answer and share of the untouched run.
    """

    values: Float[np.ndarray, " token"]
    answers: np.ndarray  # of str: "token"
    shares: Float[np.ndarray, " token"]
    before: float
    untouched: tuple[str, float]
    tokens: tuple[str, ...]
    measure: str
    how: str

    def columns(self) -> Columns:
        """One line per token."""
        return {
            "token": list(self.tokens),
            "effect": self.values.tolist(),
            "after": (self.values + self.before).tolist(),
            "answer": self.answers.tolist(),
            "share": self.shares.tolist(),
        }


@dataclass(frozen=True, repr=False)
class Flips(TableResult):
    """The smallest sets of tokens whose removal changes the answer, the most likely answer first.

    sets: positions of tokens; empty if no set of at most `most` tokens changes the answer.
    answers: the answer without each set, and how likely it is.
    tries: how many sets were tried.
    whole: whether all sets of that size were tried; False if the limit came first.
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


def tokens(
    encoder: Any,
    text: Any,
    *,
    how: How = "attention",
    measure: str | None = None,
    answer: str | None = None,
    other: str | None = None,
    at: int | None = None,
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
    one = _Text(encoder_of(encoder), text, how, measure, Asked(answer, other, at, pooling))
    places = one.removable()
    values = np.full(len(one.names), np.nan)
    shares, answers = values.copy(), np.full(len(values), "", dtype=object)
    for number, (place, value, said) in enumerate(one.without([(place,) for place in places])):
        values[place[0]] = value - one.before
        answers[place[0]], shares[place[0]] = said
        if progress is not None:
            progress((number + 1) / len(places))
    return TokenEffect(
        values, answers, shares, one.before, one.untouched, one.names, one.measure.words, how
    )


def flips(
    encoder: Any,
    text: Any,
    *,
    most: int = 3,
    how: How = "attention",
    measure: str | None = None,
    at: int | None = None,
    progress: Progress | None = None,
) -> Flips:
    """The fewest tokens whose removal changes what the prediction head answers.

    Sets are tried by size, those with the largest single effects first, at most 2,000 of them. Many
    sets may flip an answer; that one does shows what is sufficient, not what the model used.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        text: one input.
        most: the largest size of a set, 1 to 3.
        how, measure, at, progress: as in `tokens`.

    Raises:
        SelectionError: a measure without answers, or an invalid size.
    """
    if most not in (1, 2, 3):
        raise SelectionError(f"most is {most!r}; choose 1, 2 or 3.")
    one = _Text(encoder_of(encoder), text, how, measure, Asked(at=at))
    if not isinstance(one.measure, Logits):
        raise SelectionError(
            f"This measure has no answer that could flip ({one.measure.words}); use a text with "
            "[MASK], or a classifier."
        )
    tries, order = 0, one.removable()
    for size in range(1, most + 1):
        wanted = list(islice(combinations(order, size), MOST_TRIES - tries))
        found = []
        for place, value, said in one.without(wanted):
            found.append((place, value, said))
            if progress is not None:
                progress(len(found) / len(wanted))
        tries += len(found)
        flipped = [each for each in found if each[2][0] != one.untouched[0]]
        whole = tries < MOST_TRIES
        if flipped or not whole:
            break
        if size == 1:
            order = [place[0] for place, _, _ in sorted(found, key=lambda each: each[1])]
    flipped.sort(key=lambda each: -each[2][1])
    return Flips(
        tuple(tuple(sorted(place)) for place, _, _ in flipped),
        tuple(said for _, _, said in flipped),
        one.untouched,
        one.names,
        tries,
        whole,
    )


class _Text:
    """One text, run as it is, and with some of its tokens away."""

    def __init__(
        self, encoder: LoadedEncoder, text: Any, how: str, measure: str | None, asked: Asked
    ) -> None:
        if how not in HOW:
            raise SelectionError(f"how is {how!r}; choose {' or '.join(HOW)}.")
        self.how, self._inputs = how, read(encoder, text)
        self._run = Rerun(encoder, self._inputs)
        self.measure: Measure = measure_of(measure, self._run, asked)
        self._place = self.measure.place if isinstance(self.measure, Logits) else None
        self._mask_id = _mask_id(encoder) if how == "mask" else None
        self.names = self._run.sample.tokens
        self.before = require_number(float(self.measure.read(self._run.output)[0]))
        self.untouched = self._said(self._run.output)[0]

    def removable(self) -> list[int]:
        """All tokens but the one that is asked about; by [MASK] no special ones either."""
        special, real = self._run.sample.special, self._run.valid[0].tolist()
        places = (place for place in range(len(self.names)) if real[place] and place != self._place)
        return [place for place in places if self.how == "attention" or not special[place]]

    def without(
        self, sets: Sequence[tuple[int, ...]]
    ) -> Iterator[tuple[tuple[int, ...], float, tuple[str, float]]]:
        """For each set of places: itself, the measure without them, and the answer then."""
        step = max(1, BATCH_TOKENS // len(self.names))
        for start in range(0, len(sets), step):
            part = sets[start : start + step]
            outputs = self._outputs(self._away(part))
            values, said = self.measure.read(outputs), self._said(outputs)
            yield from zip(part, values.tolist(), said, strict=True)

    def _away(self, sets: Sequence[tuple[int, ...]]) -> Bool[Tensor, "variant token"]:
        away = torch.zeros(len(sets), len(self.names), dtype=torch.bool)
        for number, places in enumerate(sets):
            away[number, list(places)] = True
        return away.to(self._run.encoder.device)

    def _outputs(self, away: Bool[Tensor, "variant token"]) -> Tensor:
        run = self._run

        def of_each(given: Tensor) -> Tensor:
            return given.expand(len(away), *given.shape[1:])

        values, *rest = arguments(run.encoder, self._inputs)
        values = of_each(values)
        valid, segments = (None if each is None else of_each(each) for each in rest)
        mask = None
        if self.how == "mask":
            values = torch.where(away, torch.tensor(self._mask_id, device=away.device), values)
        else:
            mask = ~away[:, None].expand(-1, away.shape[1], -1)
        with at_rest(run.model):
            output: Tensor = run.model(values, valid, segments, mask).output
        return output

    def _said(self, outputs: Tensor) -> list[tuple[str, float]]:
        said = self.measure.said(outputs)
        if said is None:
            return [("", float("nan"))] * len(outputs)
        names = (self.measure.name(int(number)) for number in said.labels)
        return list(zip(names, map(float, said.shares), strict=True))


def _mask_id(encoder: LoadedEncoder) -> int:
    reader = encoder.reader
    if isinstance(reader, TextReader):
        for spelling in MASKS:
            for name in (spelling, spelling.upper()):
                number = reader.tokenizer.token_to_id(name)
                if number is not None:
                    return int(number)
    raise SelectionError(f'{encoder.card.name} has no [MASK]; use how="attention".')
