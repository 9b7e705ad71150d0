"""effect: what changes when a head is removed, for every head, exactly."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import Most, Progress, Token, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.joint import ReplaceHow, Replacement, replacement
from viz_encoder.effects.measure import Measure, MeasureArguments
from viz_encoder.effects.measures import Measured, measure_of, require_number, usual
from viz_encoder.effects.rerun import HeadPlace, Heads, Rerun, chosen, one_by_one
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.result import ArrayResult, Columns, largest, long_columns
from viz_encoder.shown import quoted

SHORT = 40  # characters of a text that an error names


@dataclass(frozen=True, eq=False, repr=False)
class Effect(ArrayResult, main="values"):
    """The effect of removing each head alone. np.asarray(effect) gives the values.

    A small effect does not mean that a head does nothing: other heads may do the same, or take over
    once it is gone (McGrath et al., 2023, arXiv:2307.15771). Effects of single heads do not add up;
    see `joint`.

    values: the measure with the head removed, minus that of the untouched run; NaN for heads that
        were not asked for.
    before: the measure of the untouched run.
    answers: the model's answer with the head removed, "" where the measure has none.
    shares: how likely that answer is; NaN where there is none.
    untouched: answer and share of the untouched run, for each text.
    measures: what is measured, in words, for each text.
    how: what replaces the head's output.
    n_forwards: the cost, in passes through all layers, over all texts.
    tokens: those of each text.
    """

    values: Float[np.ndarray, "text layer head"]
    before: Float[np.ndarray, " text"]
    answers: np.ndarray  # str: "text layer head"
    shares: Float[np.ndarray, "text layer head"]
    untouched: tuple[tuple[str, float], ...]
    measures: tuple[str, ...]
    how: str
    n_forwards: float
    tokens: tuple[tuple[str, ...], ...]

    @property
    def mean(self) -> Float[np.ndarray, "layer head"]:
        """The mean over the texts."""
        return self.values.mean(axis=0)

    @property
    def spread(self) -> Float[np.ndarray, "layer head"]:
        """The standard deviation over the texts; NaN for a single text."""
        if len(self.values) < 2:
            return np.full(self.values.shape[1:], np.nan)
        return self.values.std(axis=0, ddof=1)

    @public
    def ranked(self, n: Most = 10) -> tuple[HeadPlace, ...]:
        """The n heads with the largest mean effect, whatever its sign, as (layer, head)."""
        return largest(np.abs(self.mean), n)

    @property
    def sentence(self) -> str:
        """The main effect in one sentence, over one text or several."""
        ranked = self.ranked(1)
        if not ranked:
            return "No head was removed."
        (layer, head), (answer, share) = ranked[0], self.untouched[0]
        name, size = f"{layer}.{head}", f"{self.mean[layer, head]:+.3g}".replace("-", "−")
        tried, every = int(np.isfinite(self.mean).sum()), self.mean.size
        of = "all heads" if tried == every else f"{tried} heads tried"
        most = "the only head tried" if tried == 1 != every else f"the largest effect of {of}"
        if len(self.values) > 1:
            of = f"mean of {len(self.values)} texts, spread {self.spread[layer, head]:.2g}"
            return f"Removing head {name} {_changes(self.measures[0])} by {size} ({of}), {most}."
        if not answer:
            return f"Removing head {name} {_changes(self.measures[0])} by {size}, {most}."
        if self.flip:
            return f"Removing head {name} flips {self.flip}, {most}."
        its = float(self.shares[0, layer, head])
        return f"Removing head {name} keeps “{answer}” ({share:.3f} → {its:.3f}), {most}."

    @property
    def flip(self) -> str:
        """The clause for a flipped answer, such as “are” (0.995) to “is” (0.687).

        "" if the answer stays the same, if there is none, or with several texts.
        """
        ranked = self.ranked(1)
        if not ranked or len(self.values) > 1:
            return ""
        (layer, head), (answer, share) = ranked[0], self.untouched[0]
        now, its = str(self.answers[0, layer, head]), float(self.shares[0, layer, head])
        if not answer or now == answer:
            return ""
        return f"“{answer}” ({share:.3f}) to “{now}” ({its:.3f})"

    def columns(self) -> Columns:
        """One line per text, layer and head."""
        axes = dict(zip(("text", "layer", "head"), map(range, self.values.shape), strict=True))
        after = self.values + self.before[:, None, None]
        values = {"effect": self.values, "after": after, "answer": self.answers}
        return long_columns(axes, values | {"share": self.shares})


@public
def effect(
    encoder: LoadedEncoder,
    texts: Any,
    heads: Heads = "all",
    *,
    how: ReplaceHow = "zero",
    reference: Iterable[Any] | None = None,
    measure: Measured | None = None,
    answer: str | Sequence[str] | None = None,
    other: str | Sequence[str] | None = None,
    at: Token | None = None,
    pooling: str | None = None,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Effect:
    """Remove each head on its own, run the layers above again, and measure what changed.

    A head is removed by replacing its output before W_O mixes the heads (Michel et al., 2019,
    arXiv:1905.10650). Nothing is approximated.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        texts: one input, or a list of them; ten to fifty show how much an effect depends on the
            text.
        heads: "all", or pairs (layer, head).
        how: "zero", or "mean": the mean of the head's output over a set. On models whose
            heads give much the same output everywhere, "mean" is the milder change.
        reference: that set.
        measure: "masked" (logits at [MASK]), "logit" (a classifier's), "pooled" (the vector) or
            "state"; if not given, the first of the first three that the model and the text have.
            What `vz.attribute` returned is a measure, too: the score that it split.
        answer: for logits, the expected word or label, one for each text or one for all; the
            model's first choice if not given.
        other: the word or label to compare it with; the model's next choice if not given.
        at: the token whose logits or state are read; [MASK], or the mean over tokens for "state",
            if not given.
        pooling: for "pooled", a method of `vz.pool`; if not given, the model's declared one, or
            mean.
        names: how errors name each of several texts; "text 0", "text 1", … if not given.
        progress: called with the fraction that is done; raise an exception in it to stop.

    Raises:
        SelectionError: no such head, measure, answer or token; texts of which only some have an
            answer, or an option that the measure does not use.
        InputError: inputs that this encoder cannot read, or a measure that is not a number.
    """
    wanted = chosen(heads, encoder.config)
    stand_in = replacement(encoder, how, reference)
    runs = one_by_one(texts)
    asked = [
        MeasureArguments(_of(answer, number, len(runs)), _of(other, number, len(runs)), at, pooling)
        for number in range(len(runs))
    ]
    found: list[_One] = []
    called = names or [f"text {number}" for number in range(len(runs))]
    if len(called) != len(runs):
        raise InputError(f"There are {len(called)} names and {len(runs)} texts; give one for each.")
    for number, source in enumerate(runs):
        try:
            run = Rerun(encoder, encoder.read(source))
            _require_same(measure, run, found, called)
            one = _One(run, measure_of(measure, run, asked[number]), encoder)
        except (InputError, SelectionError) as fault:
            if len(runs) == 1:
                raise
            raise type(fault)(f"{_named(called[number], source)}: {fault}") from fault
        for done in one.take_out(wanted, stand_in):
            if progress is not None:
                progress((number + done) / len(runs))
        found.append(one)
    return _together(found, stand_in.words)


def _require_same(
    measure: Measured | None, run: Rerun, found: Sequence["_One"], called: Sequence[str]
) -> None:
    if measure is None and found and usual(run) != usual(found[0].run):
        raise SelectionError(
            f"it would be measured by {usual(run)!r} and {called[0]} by {usual(found[0].run)!r}, "
            "which cannot be averaged; choose one measure for all."
        )


def _named(name: str, source: Any) -> str:
    """Such as "Line 3, “the key to the cabinet …”"."""
    name = f"{name[:1].upper()}{name[1:]}"
    if not isinstance(source, str):
        return name
    short = source if len(source) <= SHORT else f"{source[: SHORT - 1].rstrip()}…"
    return f"{name}, {quoted(short)}"


class _One:
    """Results for one text."""

    def __init__(self, run: Rerun, measure: Measure, encoder: LoadedEncoder) -> None:
        shape = encoder.config.n_layers, encoder.config.n_heads
        self.run, self.measure = run, measure
        self.before = require_number(float(measure.read(run.output)[0]))
        self.values = np.full(shape, np.nan)
        self.shares = np.full(shape, np.nan)
        self.answers = np.full(shape, "", dtype=object)
        (self.untouched,) = measure.said(run.output)

    def take_out(self, wanted: Sequence[HeadPlace], stand_in: Replacement) -> Iterator[float]:
        """Each head alone; the share that is done, after each batch."""
        for alone in self.run.each_alone(wanted, stand_in.of):
            at = alone.layer, alone.heads
            self.values[at] = self.measure.read(alone.outputs) - self.before
            self.answers[at], self.shares[at] = zip(*self.measure.said(alone.outputs), strict=True)
            yield alone.done


def _together(found: Sequence[_One], how: str) -> Effect:
    return Effect(
        values=np.stack([one.values for one in found]),
        before=np.array([one.before for one in found]),
        answers=np.stack([one.answers for one in found]),
        shares=np.stack([one.shares for one in found]),
        untouched=tuple(one.untouched for one in found),
        measures=tuple(one.measure.words for one in found),
        how=how,
        n_forwards=sum(one.run.n_forwards for one in found),
        tokens=tuple(one.run.sample.tokens for one in found),
    )


def _of(given: Any, number: int, count: int) -> Any:
    """The answer of one text, where each has its own."""
    if given is None or isinstance(given, str) or not isinstance(given, Sequence):
        return given
    if len(given) != count:
        raise InputError(
            f"There are {len(given)} answers and {count} texts; give one for all, or one for each."
        )
    return given[number]


def _changes(measure: str) -> str:
    """The effect in words of a measure without an answer; only vector measures are named."""
    if not measure.startswith("1 − cosine"):
        return "changes the measure"
    what = "pooled vector" if "pooled" in measure else "last hidden states"
    return f"turns the {what} (1 − cosine)"
