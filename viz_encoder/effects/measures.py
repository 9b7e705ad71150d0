"""Measures: one number of an encoder's output, that may change when something is taken away."""

from copy import copy
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import HeadConfig, Task
from viz_encoder.effects.rerun import Rerun
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import TextReader
from viz_encoder.model import pool
from viz_encoder.model.pooling import PoolerHead
from viz_encoder.trace.prediction_heads import choose_head, likelihoods, tasks

Name = Literal["pooled", "logit", "masked", "state"]
NAMES = ("pooled", "logit", "masked", "state")
MASKS = ("[mask]", "<mask>")
Outputs = Float[Tensor, "variant token d_model"]


class Said(NamedTuple):
    """What a prediction head says of each variant: its best label, and how likely that is."""

    labels: Int[np.ndarray, " variant"]
    shares: Float[np.ndarray, " variant"]


class Measure(Protocol):
    """A number of an output; `words` says in plain words what it is."""

    @property
    def words(self) -> str:
        """What is measured."""

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """The number, for each variant."""

    def said(self, outputs: Outputs) -> Said | None:
        """What the prediction head says; None where the measure has none."""

    def name(self, number: int) -> str:
        """What a label is called."""


@dataclass(frozen=True)
class Asked:
    """What a measure is told besides its name; what is None is chosen for each input."""

    answer: str | None = None
    other: str | None = None
    at: int | None = None
    pooling: str | None = None


def measure_of(name: str | None, run: Rerun, asked: Asked) -> Measure:
    """The measure of that name for this run; if none is given, the one that says most.

    Raises:
        SelectionError: no such measure, or one that this model or input does not have.
    """
    if name is None:
        name = _usual(run)
    match name:
        case "pooled":
            return Pooled(run, asked.pooling)
        case "state":
            return State(run, asked.at)
        case "masked":
            return Logits(run, Task.MASKED, asked)
        case "logit":
            return Logits(run, Task.CLASSIFY, asked)
    raise SelectionError(f"There is no measure {name!r}; choose one of {', '.join(NAMES)}.")


def _usual(run: Rerun) -> Name:
    spoken = tasks(run.encoder)
    if Task.MASKED in spoken and _masked_places(run):
        return "masked"
    return "logit" if Task.CLASSIFY in spoken else "pooled"


class Pooled:
    """1 − cosine of the pooled vector to the untouched one: 0 = no change, at most 2."""

    def __init__(self, run: Rerun, method: str | None) -> None:
        """Pool the untouched output; by the model's declared pooling if it can, else by mean."""
        self._run = run
        self._method = method or _usual_pooling(run)
        self._before = self._vectors(run.output)
        self.words = f"1 − cosine of the pooled vector ({self._method}) to the untouched one"

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """How far the vector turned."""
        return turned(self._vectors(outputs), self._before)

    def said(self, outputs: Outputs) -> None:
        """A vector says nothing."""

    def name(self, number: int) -> str:
        """A vector has no labels."""
        return ""

    def _vectors(self, outputs: Outputs) -> Tensor:
        run = self._run
        with torch.inference_mode():
            return pool(
                outputs,
                run.valid.expand(len(outputs), -1),
                self._method,
                encoder=run.encoder,
                head=own_pooler(run),
                n_prefix=max(1, len(run.model.config.prefix)),
                n_prompt=run.sample.n_prompt,
            )


def _usual_pooling(run: Rerun) -> str:
    """The model's own; mean where it declares none, or none of so many tokens."""
    if run.encoder.declared is None:
        return "mean"
    try:
        run.encoder.declared.require(run.valid, run.sample.n_prompt)
    except InputError:
        return "mean"
    return "declared"


def own_pooler(run: Rerun) -> PoolerHead | None:
    """The model's own pooler, if it has one."""
    heads = run.model.heads
    return heads["pool"] if "pool" in heads else None  # noqa: SIM401 (a ModuleDict has no get)


class State:
    """1 − cosine of a token's hidden state to the untouched one; the mean over tokens if none."""

    def __init__(self, run: Rerun, at: int | None) -> None:
        """Keep the untouched states."""
        n_tokens = run.output.shape[1]
        if at is not None and not 0 <= at < n_tokens:
            raise SelectionError(f"There is no token {at}; choose 0 to {n_tokens - 1}.")
        self._at, self._real, self._before = at, run.valid[0], run.output
        whose = "mean over the tokens" if at is None else f"token {at}, “{run.sample.tokens[at]}”"
        self.words = f"1 − cosine of the last hidden state to the untouched one ({whose})"

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """How far the states turned."""
        if self._at is not None:
            return turned(outputs[:, self._at], self._before[:, self._at])
        each = turned(outputs[:, self._real], self._before[:, self._real])
        mean: Float[np.ndarray, " variant"] = each.mean(axis=1)
        return mean

    def said(self, outputs: Outputs) -> None:
        """A state says nothing."""

    def name(self, number: int) -> str:
        """A state has no labels."""
        return ""


class Logits:
    """The logit of an answer minus that of another: > 0 where the model prefers the answer."""

    def __init__(self, run: Rerun, task: Task, asked: Asked) -> None:
        """Take the model's first and second choice for the answers that are not given."""
        self._run, self.head = run, choose_head(run.encoder, task)
        self.place = _place(run, asked.at) if task is Task.MASKED else None
        logits = self.logits(run.output)[0]
        if len(logits) < 2:
            raise SelectionError(
                f"{run.encoder.card.name} gives one score, and so no choice between two; measure "
                "'pooled' or 'state'."
            )
        first, second = logits.topk(2).indices.tolist()
        self.answer = first if asked.answer is None else label(asked.answer, run, self.head)
        rival = second if self.answer == first else first
        self.other = rival if asked.other is None else label(asked.other, run, self.head)
        if self.answer == self.other:
            raise SelectionError(f"The answer and the other are both {asked.answer!r}; name two.")

    def against(self, rival: int) -> "Logits":
        """The same answer against another label."""
        changed = copy(self)
        changed.other = rival
        return changed

    @property
    def words(self) -> str:
        """Which two logits, and where."""
        place = "" if self.place is None else f" at token {self.place}"
        return f"logit of “{self.name(self.answer)}” − “{self.name(self.other)}”{place}"

    def name(self, number: int) -> str:
        """What a label is called."""
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

    def said(self, outputs: Outputs) -> Said:
        """The label that comes first now, and how likely it is."""
        shares, _ = likelihoods(self.head, self.logits(outputs))
        best = shares.max(dim=-1)
        return Said(best.indices.cpu().numpy(), best.values.cpu().numpy())


def turned(
    now: Float[Tensor, "*places d_vector"], before: Float[Tensor, "*#places d_vector"]
) -> Float[np.ndarray, "*places"]:
    """1 − cosine, as half the squared distance of unit vectors: exact where it is tiny."""
    now, before = (torch.nn.functional.normalize(x.double(), dim=-1) for x in (now, before))
    return ((now - before).square().sum(dim=-1) / 2).cpu().numpy()


def label(name: str, run: Rerun, head: HeadConfig) -> int:
    """The number of a label or token.

    Raises:
        SelectionError: the head knows no such label.
    """
    if head.labels:
        if name in head.labels:
            return head.labels.index(name)
        raise SelectionError(f"There is no label {name!r}; choose {', '.join(head.labels[:20])}.")
    reader = run.encoder.reader
    if isinstance(reader, TextReader):
        for spelling in (name, f"Ġ{name}", f"▁{name}"):
            number = reader.tokenizer.token_to_id(spelling)
            if number is not None:
                return int(number)
    raise SelectionError(f"{name!r} is not one token of this model; choose a word that is.")


def _masked_places(run: Rerun) -> list[int]:
    names = enumerate(run.sample.tokens)
    return [place for place, name in names if name.strip("▁Ġ ").lower() in MASKS]


def _place(run: Rerun, at: int | None) -> int:
    n_tokens = run.output.shape[1]
    if at is not None:
        if not 0 <= at < n_tokens:
            raise SelectionError(f"There is no token {at}; choose 0 to {n_tokens - 1}.")
        return at
    places = _masked_places(run)
    if not places:
        raise SelectionError(
            "The text has no [MASK], so nothing is predicted; write [MASK] for a word, or say at "
            "which token: at=3."
        )
    return places[0]


def kind_of(encoder: LoadedEncoder) -> str:
    """What the encoder reads, for sentences."""
    return {"text": "texts", "image": "pictures", "vector": "inputs"}[encoder.kind]
