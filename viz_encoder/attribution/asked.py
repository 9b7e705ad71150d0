"""AttributeArguments: those of one call of `attribute`, and how an input is split by them."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_encoder.arguments import Token
from viz_encoder.attribution.attribution import Attribution, put_together
from viz_encoder.attribution.frozen_run import FrozenRun, ScorePart
from viz_encoder.attribution.question import RUNNER_UP, ScoreQuestion, of_one, of_two
from viz_encoder.attribution.question import toward as along
from viz_encoder.attribution.readout import (
    AnswerLogits,
    FinalState,
    Of,
    PooledVector,
    Readout,
    Score,
    kind_of,
    readout_of,
)
from viz_encoder.attribution.rules import Through
from viz_encoder.attribution.starts import Start, one_of, starts_of
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measure import pooled
from viz_encoder.effects.measures import require_number
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.alignment import align
from viz_encoder.trace.capture import capture
from viz_encoder.trace.prediction_heads import read_label
from viz_encoder.trace.recomputed import allowed


class TokenColumns(NamedTuple):
    """One column a token, or a pair of tokens that stand for each other; None: only in the other.

    names: of each column; two different tokens as "tired/wide".
    here, there: the column of each token of each run; padding has −1.
    """

    names: tuple[str, ...]
    here: tuple[int, ...]
    there: tuple[int, ...] = ()


def columns_of(trace: Trace, reference: Trace | None = None) -> TokenColumns:
    """The tokens of a run in their order, with those of another that has no partner between them.

    Tokens are aligned as `compare` aligns them. Where as many tokens differ in both runs between
    two that are aligned, they stand for each other in their order, as in a swap.
    """
    if reference is None:
        return TokenColumns(trace.tokens, tuple(range(trace.n_tokens)))
    found = align(trace, reference)
    here, there = [-1] * trace.n_tokens, [-1] * reference.n_tokens
    names: list[str] = []
    ours, theirs = sorted(found.only_here), sorted(found.only_there)
    for a, b in (*sorted(found.pairs), (trace.n_tokens, reference.n_tokens)):
        before, ours = _cut(ours, a)
        its, theirs = _cut(theirs, b)
        pairs: list[tuple[int | None, int | None]]
        if len(before) == len(its):
            pairs = list(zip(before, its, strict=True))
        else:
            pairs = [*((one, None) for one in before), *((None, other) for other in its)]
        for one, other in (*pairs, (a, b)) if a < trace.n_tokens else pairs:
            if one is not None:
                here[one] = len(names)
            if other is not None:
                there[other] = len(names)
            names.append(_name(trace, reference, one, other))
    return TokenColumns(tuple(names), tuple(here), tuple(there))


def _cut(places: list[int], end: int) -> tuple[list[int], list[int]]:
    at = bisect_left(places, end)
    return places[:at], places[at:]


def _name(trace: Trace, reference: Trace, one: int | None, other: int | None) -> str:
    mine = None if one is None else trace.tokens[one]
    its = None if other is None else reference.tokens[other]
    return "/".join(dict.fromkeys(name for name in (mine, its) if name is not None))


@dataclass(frozen=True)
class AttributeArguments:
    """The arguments of one call."""

    encoder: LoadedEncoder
    kind: Of | None
    label: int | str | None
    token: Token | None
    against: Any
    toward: Any
    through: Through

    def of(self, start: Start) -> Attribution:
        """One input, split."""
        encoder, valid = self.encoder, start.valid
        readout = readout_of(encoder, start.sample, valid, self.kind, self.token)
        self._check(readout)
        with torch.inference_mode(False), torch.enable_grad():
            run = FrozenRun(encoder, start, self.through)
            other = self._other(readout)
            if other is None:
                return self._split(readout, (run,))
            return self._split(readout, (run, FrozenRun(encoder, other, self.through)))

    def _split(self, readout: Readout, runs: tuple[FrozenRun, ...]) -> Attribution:
        vectors, readouts = [], [readout]
        columns = columns_of(*(run.trace for run in runs))
        if len(runs) > 1:
            readouts.append(_moved(readout, columns.here, columns.there, self._read_as(readout)))
        for run, each in zip(runs, readouts, strict=True):
            with run.frozen:
                vectors.append(each.vectors(run, run.output)[0])
        question = self._question(runs[0], readout, vectors)
        signs = (1.0, -1.0)[: len(runs)]
        scores, parts = [], []
        for run, sign, vector, places in zip(runs, signs, vectors, columns[1:], strict=False):
            score = (vector * question.direction).sum()
            scores.append(sign * float(score.detach()))
            parts.append(ScorePart(sign, run.flow(score), np.array(places)))
        total = require_number(sum(scores), "The score is not a number")
        asked = Score(
            kind_of(readout), getattr(readout, "token", None), question.direction, -sum(scores[1:])
        )
        found = put_together(
            total, tuple(parts), columns.names, question.words, question.unit, self.through, asked
        )
        return self._checked(found, runs[0].output.dtype)

    def _question(self, run: FrozenRun, readout: Readout, vectors: list[Tensor]) -> ScoreQuestion:
        encoder, sample = self.encoder, run.start.sample
        if isinstance(readout, PooledVector) and self.toward is not None:
            return along(vectors[0], self._toward(readout))
        if len(vectors) > 1:
            return of_two(encoder, sample, readout, (vectors[0], vectors[1]), self.label)
        return of_one(encoder, sample, readout, vectors[0], self.label, self.against)

    def _toward(self, readout: PooledVector) -> Any:
        given = self.toward
        if hasattr(given, "__array__") or (
            isinstance(given, list) and all(isinstance(x, float) for x in given)
        ):
            return given
        made = given if isinstance(given, Trace) else capture(self.encoder, given)
        trace = one_of(made, "toward")
        output, valid = trace.output[None].to(self.encoder.device), trace.valid[None]
        return pooled(self.encoder, trace.sample, output, valid.to(output.device), readout.method)[
            0
        ]

    def _other(self, readout: Readout) -> Start | None:
        """The run to subtract, if `against` is a text and no label."""
        if self.against is None or self._is_label(readout):
            return None
        starts, _ = starts_of(self.encoder, self.against)
        return one_of(starts, "against")

    def _is_label(self, readout: Readout) -> bool:
        if not isinstance(readout, AnswerLogits) or not isinstance(self.against, int | str):
            return False
        if self._names_label():
            return True
        try:
            read_label(self.encoder, readout.head, self.against)
        except SelectionError:
            return False
        return True

    def _names_label(self) -> bool:
        """Whether `against` can be no text."""
        return isinstance(self.against, int) or (
            isinstance(self.against, str) and self.against == RUNNER_UP
        )

    def _read_as(self, readout: Readout) -> str:
        """What `against` was taken for, where it may have been meant as a label."""
        if not isinstance(readout, AnswerLogits) or not isinstance(self.against, str):
            return ""
        return f" {quoted(self.against)} is no label of {self.encoder.card.name}, so it is a text."

    def _check(self, readout: Readout) -> None:
        if self.label is not None and not isinstance(readout, AnswerLogits):
            raise SelectionError('label= names an answer; it goes with of="answer".')
        if self._names_label() and not isinstance(readout, AnswerLogits):
            raise SelectionError(
                f'against={self.against!r} names a label; it goes with of="answer". Give another '
                "text."
            )
        if self.toward is not None and not isinstance(readout, PooledVector):
            raise SelectionError('toward= is a direction of the pooled vector; give of="pooled".')
        if self.toward is not None and self.against is not None:
            raise SelectionError("Give against= or toward=, not both.")

    def _checked(self, found: Attribution, dtype: torch.dtype) -> Attribution:
        if self.through == "values" and not found.unexplained <= allowed(dtype):
            raise TraceError(
                f"The shares add up to {found.tokens.sum() + found.biases:.4g} and the score is "
                f"{found.score:.4g}, so they are not shown as its parts. Load the model with dtype "
                "float32."
            )
        return found


def _moved(
    readout: Readout, here: tuple[int, ...], there: tuple[int, ...], read_as: str
) -> Readout:
    """The same readout in the other run: at the token that stands for this one."""
    token = getattr(readout, "token", None)
    if token is None:
        return readout
    if here[token] not in there:
        raise SelectionError(
            f"Token {token} has no partner in the other text, so nothing is read there; change "
            f"another word, or ask for another token.{read_as}"
        )
    its = there.index(here[token])
    return FinalState(its) if isinstance(readout, FinalState) else AnswerLogits(readout.head, its)  # type: ignore[attr-defined]
