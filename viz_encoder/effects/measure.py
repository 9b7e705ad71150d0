"""Measures: numbers of an encoder's output that may change when something is removed."""

from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.arguments import Token, read_token
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import Task
from viz_encoder.effects.rerun import Rerun
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import Sample
from viz_encoder.model import pool
from viz_encoder.shown import quoted
from viz_encoder.trace.prediction_heads import choose_head, likelihoods, masked_tokens, read_label

Outputs = Float[Tensor, "variant token d_model"]


Answer = tuple[str, float]  # a prediction head's best label, and its probability


@runtime_checkable
class Measure(Protocol):
    """A number of an output; `words` says in plain words what it is.

    One that reads the states of some tokens alone names them as `reads`.
    """

    @property
    def words(self) -> str:
        """Description of the measure."""

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """The number, for each variant."""

    def said(self, outputs: Outputs) -> list[Answer]:
        """The prediction head's answer for each variant; ("", NaN) for measures without one."""


class NoAnswer:
    """What a measure of vectors says."""

    def said(self, outputs: Outputs) -> list[Answer]:
        """No answer."""
        return [("", float("nan"))] * len(outputs)


@runtime_checkable
class Measurable(Protocol):
    """What has a measure of its own for runs of an input, such as what `vz.attribute` found."""

    def measure(self, run: Any) -> Measure:
        """The measure on reruns of its input."""


@dataclass(frozen=True)
class MeasureArguments:
    """Arguments of a measure besides its name; None is chosen per input."""

    answer: str | None = None
    other: str | None = None
    at: Token | None = None
    pooling: str | None = None


class Logits:
    """The logit of an answer minus that of another: > 0 where the model prefers the answer."""

    def __init__(self, run: Rerun, task: Task, asked: MeasureArguments) -> None:
        """Take the model's first and second choice for the answers that are not given."""
        self._run, self.head = run, choose_head(run.encoder, task)
        self.place = _place(run, asked.at) if task is Task.MASKED else None
        logits = self.logits(run.output)[0]
        if len(logits) < 2:
            raise SelectionError(
                f"{run.encoder.card.name} gives a single score, so there are no two answers to "
                "compare; choose the measure 'pooled' or 'state'."
            )
        first, second = logits.topk(2).indices.tolist()
        self.answer = (
            first if asked.answer is None else read_label(run.encoder, self.head, asked.answer)
        )
        rival = second if self.answer == first else first
        self.other = (
            rival if asked.other is None else read_label(run.encoder, self.head, asked.other)
        )
        if self.answer == self.other:
            raise SelectionError(_one_answer(asked, self.name(self.answer)))

    def against(self, rival: int) -> "Logits":
        """The same answer compared with another label."""
        changed = copy(self)
        changed.other = rival
        return changed

    @property
    def words(self) -> str:
        """Which two logits are compared, and where."""
        place = "" if self.place is None else f" at token {self.place}"
        return f"logit of “{self.name(self.answer)}” − “{self.name(self.other)}”{place}"

    @property
    def reads(self) -> tuple[int, ...] | None:
        """The tokens whose states the head reads; None for all."""
        return self.head.reads if self.place is None else (self.place,)

    def name(self, number: int) -> str:
        """Name of a label."""
        return self._run.encoder.output_name(self.head, number)

    def logits(self, outputs: Outputs) -> Float[Tensor, "variant label"]:
        """The head's scores, at the place that is asked about."""
        run = self._run
        with torch.inference_mode():
            head = run.model.heads[str(self.head.task)]
            if self.place is None:
                return head(outputs, run.valid.expand(len(outputs), -1)).float()
            return head(outputs[:, self.place : self.place + 1])[:, 0].float()

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """The difference of the two logits."""
        logits = self.logits(outputs)
        return (logits[:, self.answer] - logits[:, self.other]).double().cpu().numpy()

    def pair(self, outputs: Outputs) -> Float[np.ndarray, "variant 2"]:
        """Probability of each of the two answers."""
        shares, _ = likelihoods(self.head, self.logits(outputs))
        return shares[:, [self.answer, self.other]].cpu().numpy()

    def said(self, outputs: Outputs) -> list[Answer]:
        """The label that comes first now, and how likely it is."""
        shares, _ = likelihoods(self.head, self.logits(outputs))
        best = shares.max(dim=-1)
        return list(zip(map(self.name, best.indices.tolist()), best.values.tolist(), strict=True))


def _one_answer(asked: MeasureArguments, name: str) -> str:
    if asked.answer is None:
        return (
            f"other is {quoted(name)}, which is the model's own answer here; give another word, or "
            "answer= as well."
        )
    return f"answer and other are both {quoted(name)}; give two different ones."


def _place(run: Rerun, at: Token | None) -> int:
    if at is not None:
        return read_token(at, run.sample.tokens)
    places = masked_tokens(run.sample.tokens)
    if not places:
        raise SelectionError(
            "The text has no [MASK], so nothing is predicted; replace a word with [MASK], or give "
            "a token, such as at=3."
        )
    return places[0]


class PooledChange(NoAnswer):
    """1 − cosine between the pooled vector and the untouched one: 0 = no change, at most 2."""

    def __init__(self, run: Rerun, method: str | None) -> None:
        """Pool the untouched output; by the model's declared pooling if it can, else by mean."""
        self._run = run
        self._method = method or usual_pooling(run.encoder, run.sample, run.valid)
        self._before = self.vectors(run.output)
        self.words = f"1 − cosine between the pooled vector ({self._method}) and the untouched one"

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """Angle by which the vector turned."""
        return turned(self.vectors(outputs), self._before)

    def vectors(self, outputs: Outputs) -> Float[Tensor, "variant d_vector"]:
        """The pooled vector of each output."""
        run = self._run
        with torch.inference_mode():
            return pooled(run.encoder, run.sample, outputs, run.valid, self._method)


def pooled(
    encoder: LoadedEncoder,
    sample: Sample,
    outputs: Outputs,
    valid: Bool[Tensor, "1 token"],
    method: str,
) -> Float[Tensor, "variant d_vector"]:
    """The pooled vector of each output, by a method of `vz.pool`."""
    heads = encoder.model.heads
    return pool(
        outputs,
        valid.expand(len(outputs), -1),
        method,
        encoder=encoder,
        head=heads["pool"] if "pool" in heads else None,  # noqa: SIM401 (a ModuleDict has no get)
        n_prefix=max(1, len(encoder.config.prefix)),
        n_prompt=sample.n_prompt,
    )


def usual_pooling(encoder: LoadedEncoder, sample: Sample, valid: Bool[Tensor, "1 token"]) -> str:
    """The model's own; mean where it declares none, or none of so many tokens."""
    if encoder.declared is None:
        return "mean"
    try:
        encoder.declared.require(valid, sample.n_prompt)
    except InputError:
        return "mean"
    return "declared"


class StateChange(NoAnswer):
    """1 − cosine between a hidden state and the untouched one; the mean over tokens if no `at`."""

    def __init__(self, run: Rerun, at: Token | None) -> None:
        at = None if at is None else read_token(at, run.sample.tokens)
        self._at, self._real, self._before = at, run.valid[0], run.output
        self.reads = None if at is None else (at,)
        whose = "mean over the tokens" if at is None else f"token {at}, “{run.sample.tokens[at]}”"
        self.words = f"1 − cosine between the last hidden state and the untouched one ({whose})"

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """Angles by which the states turned."""
        if self._at is not None:
            return turned(outputs[:, self._at], self._before[:, self._at])
        each = turned(outputs[:, self._real], self._before[:, self._real])
        return each.mean(axis=1)


def turned(
    now: Float[Tensor, "*places d_vector"], before: Float[Tensor, "*#places d_vector"]
) -> Float[np.ndarray, "*places"]:
    """1 − cosine, as half the squared distance of unit vectors: exact where it is tiny."""
    now, before = (torch.nn.functional.normalize(x.double(), dim=-1) for x in (now, before))
    return ((now - before).square().sum(dim=-1) / 2).cpu().numpy()
