"""Readout: the vector that is read from an output, of which a score is one direction."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.arguments import Token, read_token
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import HeadConfig, HeadPool, Task
from viz_encoder.effects.measure import Measure, NoAnswer, Outputs, pooled, usual_pooling
from viz_encoder.effects.measures import available
from viz_encoder.effects.rerun import Rerun
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Sample
from viz_encoder.trace.prediction_heads import choose_head, masked_tokens, tasks

Of = Literal["answer", "state", "pooled", "masked", "classify", "tokens", "replaced"]
ReadVectors = Float[Tensor, "variant n"]


@runtime_checkable
class ReadRun(Protocol):
    """An input and what ran it, of which outputs are read."""

    @property
    def encoder(self) -> LoadedEncoder:
        """The model."""

    @property
    def sample(self) -> Sample:
        """The input."""

    @property
    def valid(self) -> Bool[Tensor, "1 token"]:
        """Which tokens are no padding."""


@runtime_checkable
class Readout(Protocol):
    """What is read from an output."""

    def vectors(self, ran: ReadRun, outputs: Outputs) -> ReadVectors:
        """One vector for each output of this input; gradients reach the outputs."""


@dataclass(frozen=True)
class AnswerLogits:
    """The logits of a prediction head, at one token or of the whole input."""

    head: HeadConfig
    token: int | None

    def vectors(self, ran: ReadRun, outputs: Outputs) -> ReadVectors:
        """One logit a label."""
        speak = ran.encoder.model.heads[str(self.head.task)]
        if self.token is None:
            return speak(outputs, ran.valid.expand(len(outputs), -1))
        return speak(outputs[:, self.token : self.token + 1])[:, 0]


@dataclass(frozen=True)
class FinalState:
    """A token's final state."""

    token: int

    def vectors(self, ran: ReadRun, outputs: Outputs) -> ReadVectors:
        """The state, after the final norm."""
        return outputs[:, self.token]


@dataclass(frozen=True)
class PooledVector:
    """The vector that stands for the whole input."""

    method: str

    def vectors(self, ran: ReadRun, outputs: Outputs) -> ReadVectors:
        """The pooled vector."""
        return pooled(ran.encoder, ran.sample, outputs, ran.valid, self.method)


def readout_of(
    encoder: LoadedEncoder, sample: Sample, valid: Tensor, of: Of | None, token: Token | None
) -> Readout:
    """What is read; if `of` is None: an answer, else the token's state, else the pooled vector."""
    at = None if token is None else read_token(token, sample.tokens, valid=valid[0])
    if of not in (None, "state", "pooled") and not tasks(encoder):
        raise SelectionError(
            f'{encoder.card.name} has no prediction head, so it gives no answer. Ask of="state" '
            'with a token, or of="pooled".'
        )
    match of or _usual(encoder, sample, at):
        case "answer":
            return _answer(encoder, sample, at)
        case Task() | "masked" | "classify" | "tokens" | "replaced" as task:
            return _answer_of(encoder, choose_head(encoder, task), sample, at)
        case "state":
            if at is None:
                raise SelectionError('of="state" needs a token; say which, such as token=3.')
            return FinalState(at)
        case _:
            if at is not None:
                raise SelectionError("The pooled vector is of no single token; leave out token=.")
            return PooledVector(usual_pooling(encoder, sample, valid))


def _usual(encoder: LoadedEncoder, sample: Sample, token: int | None) -> Of:
    known = available(encoder, sample)
    if token is None:
        return "answer" if known[0] in ("masked", "logit") else "pooled"
    if "masked" in known and token in masked_tokens(sample.tokens):
        return "answer"
    return "answer" if {Task.TOKENS, Task.REPLACED} & {*tasks(encoder)} else "state"


def _answer(encoder: LoadedEncoder, sample: Sample, token: int | None) -> AnswerLogits:
    known, masks = tasks(encoder), masked_tokens(sample.tokens)
    each = [task for task in known if choose_head(encoder, task).pool is HeadPool.EACH]
    if token is None and Task.MASKED in known and masks:
        task = Task.MASKED
    elif (token is None and Task.CLASSIFY in known) or not each:
        task = Task.CLASSIFY
    else:
        task = each[0]
    return _answer_of(encoder, choose_head(encoder, task), sample, token)


def _answer_of(
    encoder: LoadedEncoder, head: HeadConfig, sample: Sample, token: int | None
) -> AnswerLogits:
    """The answer of this head, at a [MASK] if it is asked for no token."""
    if head.pool is not HeadPool.EACH:
        if token is not None:
            raise SelectionError(
                f"{encoder.card.name} answers for the whole input; leave out token=."
            )
        return AnswerLogits(head, None)
    if token is None and head.task is Task.MASKED:
        token = next(iter(masked_tokens(sample.tokens)), None)
    if token is None:
        masked = "replace a word with [MASK], or say which token"
        what = masked if head.task is Task.MASKED else "say which"
        raise SelectionError(
            f"{encoder.card.name} answers for each token; {what}, such as token=3."
        )
    return AnswerLogits(head, token)


@dataclass(frozen=True, eq=False)
class Score:
    """A vector that is read from a run, along a direction that is held.

    of, token: what is read, and where.
    direction: as the question gave it.
    less: what another run has of it, which is subtracted; 0 of one run.
    """

    of: Of
    token: int | None
    direction: Float[Tensor, " n"]
    less: float

    def measure(self, run: Rerun, words: str) -> Measure:
        """The same score on runs of this input with something removed."""
        readout = readout_of(run.encoder, run.sample, run.valid, self.of, self.token)
        return _Along(run, readout, self, words)


@dataclass(frozen=True, eq=False)
class _Along(NoAnswer):
    """The score of each output."""

    run: Rerun
    readout: Readout
    score: Score
    words: str

    @property
    def reads(self) -> tuple[int, ...] | None:
        """The only tokens whose states are read; None for all."""
        match self.readout:
            case AnswerLogits(head, None):
                return head.reads
            case AnswerLogits(_, int(token)) | FinalState(token):
                return (token,)
            case _:
                return None

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """The vector along the direction, less what the other run has of it."""
        with torch.inference_mode():
            vectors = self.readout.vectors(self.run, outputs)
            along = (vectors * self.score.direction.to(vectors)).sum(dim=-1)
        return along.double().cpu().numpy() - self.score.less


def kind_of(readout: Readout) -> Of:
    """What a readout reads, as a question says it."""
    match readout:
        case AnswerLogits(head):
            return str(head.task)  # type: ignore[return-value]
        case FinalState():
            return "state"
        case _:
            return "pooled"
