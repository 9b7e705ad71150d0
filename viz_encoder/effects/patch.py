"""patch: what a head of one run changes when it is put into the run of a twin text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import Most, Progress, Token, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measure import Logits, Measure, MeasureArguments
from viz_encoder.effects.measures import NamedMeasure, measure_of, require_number
from viz_encoder.effects.rerun import HeadPlace, Heads, Rerun, chosen, one_by_one
from viz_encoder.errors import InputError
from viz_encoder.result import ArrayResult, largest
from viz_encoder.trace.prediction_heads import masked_tokens

Direction = Literal["noising", "denoising"]


@dataclass(frozen=True, eq=False, repr=False)
class Patch(ArrayResult, main="shares", table={"share": "shares", "value": "values"}):
    """Each head alone, patched from a twin text. np.asarray(patch) gives the shares.

    shares: the change, as a share of the whole difference between the two runs: 0 = as if nothing
        were patched, 1 = as if the whole run were. Noising shows what is necessary, denoising what
        is sufficient (Heimersheim & Nanda, 2024, arXiv:2404.15255). NaN for heads that were not
        asked for.
    values: the measure with the head patched.
    clean, other: the measure in each of the two unpatched runs.
    measures: what is measured, in words, for each pair.
    direction: "noising": the clean run gets the other run's head; "denoising": the reverse.
    """

    shares: Float[np.ndarray, "pair layer head"]
    values: Float[np.ndarray, "pair layer head"]
    clean: Float[np.ndarray, " pair"]
    other: Float[np.ndarray, " pair"]
    measures: tuple[str, ...]
    direction: str
    n_forwards: float

    @property
    def mean(self) -> Float[np.ndarray, "layer head"]:
        """The mean share over the pairs."""
        return self.shares.mean(axis=0)

    @public
    def ranked(self, n: Most = 10) -> tuple[HeadPlace, ...]:
        """The n heads with the largest share on average, as (layer, head)."""
        return largest(self.mean, n)


@public
def patch(
    encoder: LoadedEncoder,
    clean: Any,
    other: Any,
    heads: Heads = "all",
    *,
    direction: Direction = "noising",
    measure: NamedMeasure | None = None,
    at: Token | None = None,
    pooling: str | None = None,
    progress: Progress | None = None,
) -> Patch:
    """Replace each head's output with its output from the run of a twin text, and measure.

    For logits, the measure is the logit difference between the two runs' own answers, as Zhang &
    Nanda (2023, arXiv:2309.16042) recommend; for vectors, 1 − cosine to the clean run's vector.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        clean: a text, or a list of them.
        other: its twin with one word changed and as many tokens; a list if `clean` is one.
        heads: "all", or pairs (layer, head).
        direction: "noising" or "denoising".
        measure: as in `effect`.
        at: as in `effect`.
        pooling: as in `effect`.
        progress: as in `effect`.

    Raises:
        InputError: twins with different numbers of tokens, or a measure that is the same in both
            runs.
        SelectionError: no such head, measure, direction or token.
    """
    wanted = chosen(heads, encoder.config)
    cleans, others = one_by_one(clean), one_by_one(other)
    if len(cleans) != len(others):
        raise InputError(
            f"There are {len(cleans)} clean inputs and {len(others)} others; give one for each."
        )
    found = []
    for number, (one, two) in enumerate(zip(cleans, others, strict=True)):
        twins = _Twins(encoder, one, two, measure, MeasureArguments(at=at, pooling=pooling))
        for done in twins.patch(wanted, noising=direction == "noising"):
            if progress is not None:
                progress((number + done) / len(cleans))
        found.append(twins)
    return Patch(
        shares=np.stack([each.shares for each in found]),
        values=np.stack([each.values for each in found]),
        clean=np.array([each.clean for each in found]),
        other=np.array([each.other for each in found]),
        measures=tuple(each.measure.words for each in found),
        direction=direction,
        n_forwards=sum(each.n_forwards for each in found),
    )


class _Twins:
    """Two runs of as many tokens, and a measure that tells them apart."""

    def __init__(
        self,
        encoder: LoadedEncoder,
        clean: Any,
        other: Any,
        measure: str | None,
        asked: MeasureArguments,
    ) -> None:
        self.runs = tuple(Rerun(encoder, encoder.read(each)) for each in (clean, other))
        counts = [run.output.shape[1] for run in self.runs]
        if counts[0] != counts[1]:
            raise InputError(
                f"The twins have {counts[0]} and {counts[1]} tokens; only runs of the same length "
                "can be patched. Replace a word with one that has as many tokens."
            )
        self.measure = _telling_apart(measure, self.runs[0], self.runs[1], asked)
        self.clean, self.other = (
            require_number(float(self.measure.read(run.output)[0])) for run in self.runs
        )
        if abs(self.clean - self.other) < 1e-9:
            raise InputError(
                "The measure is the same in both runs, so there is nothing to patch. Choose twins "
                "with different answers, or another measure."
            )
        self.values = np.full((encoder.config.n_layers, encoder.config.n_heads), np.nan)

    def patch(self, wanted: Sequence[HeadPlace], *, noising: bool) -> Iterator[float]:
        """Each head alone; the share that is done, after each batch."""
        self.base = self.clean if noising else self.other
        run, donor = self.runs if noising else self.runs[::-1]
        for alone in run.each_alone(wanted, donor.said.__getitem__):
            self.values[alone.layer, alone.heads] = self.measure.read(alone.outputs)
            yield alone.done

    @property
    def shares(self) -> Float[np.ndarray, "layer head"]:
        """The change, as a share of the way to the other run."""
        goal = self.other if self.base == self.clean else self.clean
        return (self.values - self.base) / (goal - self.base)

    @property
    def n_forwards(self) -> float:
        """Cost of the reruns, in full forward passes."""
        return sum(run.n_forwards for run in self.runs)


def _telling_apart(
    name: str | None, clean: Rerun, other: Rerun, asked: MeasureArguments
) -> Measure:
    """The measure on the clean run; for logits, between the first choices of both runs."""
    measure = measure_of(name, clean, asked)
    if not isinstance(measure, Logits):
        return measure
    places = [masked_tokens(run.sample.tokens) for run in (clean, other)]
    if measure.place is not None and asked.at is None and places[0][:1] != places[1][:1]:
        raise InputError(
            f"[MASK] is token {places[0][0]} in one text and "
            f"{places[1][0] if places[1] else 'nowhere'} in its twin; put it in the same place."
        )
    rival = int(measure.logits(other.output)[0].argmax())
    if rival == measure.answer:
        raise InputError(
            f"Both runs answer “{measure.name(rival)}”, so there is nothing to patch. Choose "
            "twins with different answers."
        )
    return measure.against(rival)
