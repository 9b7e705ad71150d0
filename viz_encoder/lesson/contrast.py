"""Contrast: a run beside its twin, without each head, and split over its tokens."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from viz_encoder.analyses.predictions import predictions
from viz_encoder.attribution import Attribution, attribute
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import Task
from viz_encoder.effects import Effect, effect
from viz_encoder.errors import VizEncoderError
from viz_encoder.inputs import Inputs
from viz_encoder.lesson.grammar import other_word
from viz_encoder.trace import Trace
from viz_encoder.trace.capture import capture

MOST_HEADS = 144  # each of which is removed
MOST_LABELS = 100


class Twin(NamedTuple):
    """The text with another word in one place, which changes the answer."""

    at: int
    word: str
    trace: Trace
    answer: str
    left: float  # of the probability of the answer without it


@dataclass(frozen=True, eq=False)
class Contrast:
    """A run of one text that may run again; `answer` is "" where the model fills in nothing."""

    encoder: LoadedEncoder
    inputs: Inputs
    trace: Trace
    query: int
    answer: str

    @cached_property
    def heads(self) -> Effect | None:
        """The answer, or the pooled vector, without each head; None if there are too many."""
        config = self.encoder.config
        if config.n_layers * config.n_heads > MOST_HEADS:
            return None
        asks: dict[str, Any] = {"measure": "masked", "at": self.query}
        try:
            return effect(self.encoder, self.inputs, **(asks if self.answer else {}))
        except VizEncoderError:
            return None

    @cached_property
    def twin(self) -> Twin | None:
        """The replacement of one word that takes most from the answer; None if none changes it."""
        sample = self.trace.sample
        if not self.answer or len(sample.texts) != 1:
            return None
        known = ((at, other_word(name)) for at, name in enumerate(self.trace.tokens))
        found = [self._with(at, word) for at, word in known if word and sample.spans[at]]
        changed = [each for each in found if each is not None and each.answer != self.answer]
        return min(changed, key=lambda each: each.left, default=None)

    def _with(self, at: int, word: str) -> Twin | None:
        """With another word in one place; None if the tokens no longer stand where they stood."""
        (start, stop), text = self.trace.sample.spans[at], self.trace.sample.texts[0]
        made = capture(self.encoder, f"{text[:start]}{word}{text[stop:]}")
        if made.n_tokens != self.trace.n_tokens:
            return None
        asks = {"task": Task.MASKED, "tokens": [self.query], "n": MOST_LABELS}
        said = predictions(self.encoder, made, **asks)[0]  # type: ignore[arg-type]
        shares = dict(zip(said.labels, said.shares.tolist(), strict=True))
        return Twin(at, word, made, said.labels[0], shares.get(self.answer, 0.0))

    @cached_property
    def said(self) -> tuple[str, str]:
        """The answer at [MASK], or of the whole input, and its rival; "" of a model without any.

        The rival is the twin's answer, or else the one that is next most likely.
        """
        if self.twin is not None:
            return self.answer, self.twin.answer
        tasks = [head.task for head in self.encoder.config.prediction_heads]
        if not self.answer and tasks[:1] != [Task.CLASSIFY]:
            return "", ""
        asks: dict[str, Any] = {"task": Task.MASKED, "tokens": [self.query]} if self.answer else {}
        labels = predictions(self.encoder, self.trace, n=2, **asks)[0].labels
        return (labels[0], labels[1]) if len(labels) == 2 else ("", "")

    @cached_property
    def carried(self) -> Attribution | None:
        """The logit of the answer less that of its rival, or the pooled vector, split."""
        return self._split(self.trace)

    @cached_property
    def carried_in_twin(self) -> Attribution | None:
        """The same score in the twin; None where there is none."""
        return None if self.twin is None else self._split(self.twin.trace)

    def _split(self, trace: Trace) -> Attribution | None:
        word, rival = self.said
        asks: dict[str, Any] = {"label": word, "against": rival} if word else {"of": "pooled"}
        if self.answer:
            asks["token"] = self.query
        try:
            return attribute(self.encoder, trace, **asks)
        except VizEncoderError:
            return None
