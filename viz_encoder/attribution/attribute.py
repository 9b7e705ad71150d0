"""attribute: what carried an answer, a state or a vector, split exactly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor, nn

from viz_encoder.arguments import Token, public
from viz_encoder.attribution.any_model import attribute_model
from viz_encoder.attribution.attribution import Attribution, put_together
from viz_encoder.attribution.columns import columns_of
from viz_encoder.attribution.frozen_run import FrozenRun, Start, start_of, starts_of
from viz_encoder.attribution.model_shares import ModelShares
from viz_encoder.attribution.parts import Part
from viz_encoder.attribution.question import RUNNER_UP, Question, of_one, of_two
from viz_encoder.attribution.question import toward as along
from viz_encoder.attribution.readout import Answer, Of, Pooled, Readout, State, readout_of
from viz_encoder.attribution.rules import Through
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measures import require_number
from viz_encoder.effects.vectors import pooled
from viz_encoder.errors import InputError, SelectionError, TraceError
from viz_encoder.model import Encoder
from viz_encoder.trace import Trace
from viz_encoder.trace.capture import One, capture, is_several, loaded
from viz_encoder.trace.prediction_heads import read_label
from viz_encoder.trace.recomputed import allowed
from viz_encoder.trace.run_facts import require_no_knock


@overload
def attribute(
    encoder: LoadedEncoder | Encoder,
    text: One | Trace,
    *,
    of: Of | None = None,
    label: int | str | None = None,
    token: Token | None = None,
    against: Any = None,
    toward: Any = None,
    through: Through = "values",
) -> Attribution: ...
@overload
def attribute(
    encoder: LoadedEncoder | Encoder,
    text: Any,
    *,
    of: Of | None = None,
    label: int | str | None = None,
    token: Token | None = None,
    against: Any = None,
    toward: Any = None,
    through: Through = "values",
) -> Any: ...
@overload
def attribute(
    encoder: nn.Module,
    text: Callable[[Any], Any],
    *,
    score: Callable[[Any], Tensor],
    at: nn.Module | Tensor | None = None,
) -> ModelShares: ...
@public
def attribute(
    encoder: Any,  # the overloads give the types of what is given, and of what comes
    text: Any,
    *,
    of: Of | None = None,
    label: int | str | None = None,
    token: Token | None = None,
    against: Any = None,
    toward: Any = None,
    through: Through = "values",
    score: Any = None,
    at: Any = None,
) -> Any:
    """Split an answer, a state or a sentence vector exactly over tokens, heads and links.

    With a run's attention weights, norm divisors and activation factors held as they ran, the
    encoder is linear in its input embeddings and its biases, so a score is a sum of one share a
    token and one for the biases (Ali et al., 2022, arXiv:2202.07304; Modarressi et al., 2023,
    arXiv:2306.02873). One backward pass gives all of them; attention maps are never held whole.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        text: one input, or a batch, as `vz.capture` takes it; or a trace of this encoder.
        of: "answer", the logit of a prediction head; "state", the final state of `token` along
            itself; "pooled", the vector of the whole input along itself. If not given: an answer
            where a head gives one, else the state if there is a token, else the vector.
        label: for an answer, a label or word; the likeliest if not given.
        token: where the answer is read, or whose state.
        against: what to subtract: another label, "runner-up" (labels, for answers only), or
            another text or trace: then the difference of the two runs is split, for states and
            vectors along the difference, so that the score is their distance.
        toward: for "pooled", a text or a vector: the score is the dot product with it, at length 1.
        through: "values", or "attention", the rules of AttnLRP (Achtibat et al., 2024,
            arXiv:2402.05602), whose shares do not add up to the score.
        score: for any other PyTorch model, `vz.attribute(model, run, score=score)`: a function that
            returns the number to split, given what `run(model)` returned.
        at: for any other model, the module that outputs the input embeddings, or the tensor of
            embeddings that `run` passes. Default: the module named "embeddings", or
            `get_input_embeddings()`.

    Returns:
        One result for one input, a list of them for a batch. For another model, the shares of its
        tokens and biases.

    Raises:
        SelectionError: no head that answers, no such label or token, options that do not go
            together, or a model in training mode.
        InputError: inputs that the encoder cannot read, or a score that is not a number.
        TraceError: the shares do not add up to the score.
    """
    if isinstance(encoder, nn.Module) and not isinstance(encoder, Encoder):
        return attribute_model(encoder, text, score, at)
    if score is not None or at is not None:
        raise SelectionError("score= and at= are for other models; ask this one by of= and label=.")
    encoder = loaded(encoder, "attribute")
    _require_ready(encoder)
    starts, one = _starts(encoder, text)
    asked = _Asked(encoder, of, label, token, against, toward, through)
    found = [asked.of(start) for start in starts]
    return found[0] if one else found


@dataclass(frozen=True)
class _Asked:
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
            readouts.append(_moved(readout, columns.here, columns.there))
        for run, each in zip(runs, readouts, strict=True):
            with run.frozen:
                vectors.append(each.vector(run))
        question = self._question(runs[0], readout, vectors)
        signs = (1.0, -1.0)[: len(runs)]
        scores, parts = [], []
        for run, sign, vector, places in zip(runs, signs, vectors, columns[1:], strict=False):
            score = (vector * question.direction).sum()
            scores.append(sign * float(score.detach()))
            parts.append(Part(sign, run.flow(score), np.array(places)))
        total = require_number(sum(scores), "The score is not a number")
        found = put_together(
            total, tuple(parts), columns, question.words, question.unit, self.through
        )
        return self._checked(found, runs[0].output.dtype)

    def _question(self, run: FrozenRun, readout: Readout, vectors: list[Tensor]) -> Question:
        encoder, sample = self.encoder, run.start.sample
        if isinstance(readout, Pooled) and self.toward is not None:
            return along(vectors[0], self._toward(readout))
        if len(vectors) > 1:
            return of_two(encoder, sample, readout, (vectors[0], vectors[1]), self.label)
        return of_one(encoder, sample, readout, vectors[0], self.label, self.against)

    def _toward(self, readout: Pooled) -> Any:
        """Another text's pooled vector, or the vector that was given."""
        given = self.toward
        if hasattr(given, "__array__") or (
            isinstance(given, list) and all(isinstance(x, float) for x in given)
        ):
            return given
        made = given if isinstance(given, Trace) else capture(self.encoder, given)
        trace = _one_of(made, "toward")
        output, valid = trace.output[None].to(self.encoder.device), trace.valid[None]
        return pooled(self.encoder, trace.sample, output, valid.to(output.device), readout.method)[
            0
        ]

    def _other(self, readout: Readout) -> Start | None:
        """The run to subtract, if `against` is a text and no label."""
        if self.against is None or self._is_label(readout):
            return None
        starts, _ = _starts(self.encoder, self.against)
        return _one_of(starts, "against")

    def _is_label(self, readout: Readout) -> bool:
        if not isinstance(readout, Answer) or not isinstance(self.against, int | str):
            return False
        if isinstance(self.against, int) or self.against == RUNNER_UP:
            return True
        try:
            read_label(self.encoder, readout.head, self.against)
        except SelectionError:
            return False
        return True

    def _check(self, readout: Readout) -> None:
        if self.label is not None and not isinstance(readout, Answer):
            raise SelectionError('label= names an answer; it goes with of="answer".')
        if self.toward is not None and not isinstance(readout, Pooled):
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


def _moved(readout: Readout, here: tuple[int, ...], there: tuple[int, ...]) -> Readout:
    """The same readout in the other run: at the token that stands for this one."""
    token = getattr(readout, "token", None)
    if token is None:
        return readout
    if here[token] not in there:
        raise SelectionError(
            f"Token {token} has no partner in the other text, so nothing is read there; change "
            "another word, or ask for another token."
        )
    its = there.index(here[token])
    return State(its) if isinstance(readout, State) else Answer(readout.head, its)  # type: ignore[attr-defined]


def _starts(encoder: LoadedEncoder, text: Any) -> tuple[list[Start], bool]:
    """Each input, and whether there is one alone."""
    if isinstance(text, Trace):
        return [start_of(encoder, text)], True
    if isinstance(text, list) and text and all(isinstance(each, Trace) for each in text):
        return [start_of(encoder, each) for each in text], False
    inputs = encoder.read(text)
    return starts_of(encoder, inputs), len(inputs.samples) == 1 and not is_several(text)


def _one_of(found: Any, name: str) -> Any:
    """The only one of a list, or what is no list."""
    each = found if isinstance(found, list) else [found]
    if len(each) != 1:
        raise InputError(f"{name} has {len(each)} inputs; give one.")
    return each[0]


def _require_ready(encoder: LoadedEncoder) -> None:
    require_no_knock(encoder.model, "attribute")
    if encoder.model.training:
        raise SelectionError(
            f"{encoder.card.name} is in training mode, where dropout changes its answers; call "
            "encoder.model.eval() first."
        )
