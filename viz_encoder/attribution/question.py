"""ScoreQuestion: a direction of what is read, and its words: the score is the vector along it."""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import said
from viz_encoder.attribution.readout import AnswerLogits, FinalState, Readout
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import Sample
from viz_encoder.shown import quoted
from viz_encoder.trace.prediction_heads import read_label

RUNNER_UP = "runner-up"
Vector = Float[Tensor, " n"]


class ScoreQuestion(NamedTuple):
    """What a score is: the sum of the vectors read, along a direction."""

    direction: Vector
    words: str  # the score as the subject of a sentence, without a full stop
    unit: str  # "logits", or "length"


def of_one(
    encoder: LoadedEncoder,
    sample: Sample,
    readout: Readout,
    vector: Vector,
    label: int | str | None,
    rival: int | str | None,
) -> ScoreQuestion:
    """The question about one run: a label's logit, or a vector along itself."""
    vector = vector.detach()
    if not isinstance(readout, AnswerLogits):
        return ScoreQuestion(
            _unit(vector), f"the length of the {_whose(readout, sample)}", "length"
        )
    number = _likeliest(vector) if label is None else read_label(encoder, readout.head, label)
    other = number if rival is None else _rival(encoder, readout, vector, number, rival)
    return _of_labels(encoder, readout, vector, number, other)


def of_two(
    encoder: LoadedEncoder,
    sample: Sample,
    readout: Readout,
    vectors: tuple[Vector, Vector],
    label: int | str | None,
) -> ScoreQuestion:
    """The question about two runs: what makes the first differ from the second.

    For answers, the logit of the first run's label minus that of the second's likeliest, in the
    first run minus in the second. Otherwise the distance of the two vectors.
    """
    here, there = (vector.detach() for vector in vectors)
    if torch.equal(here, there):
        what = "answer" if isinstance(readout, AnswerLogits) else "vector"
        raise SelectionError(
            f"The two runs give the same {what}, so nothing made them differ; give another text."
        )
    if not isinstance(readout, AnswerLogits):
        return ScoreQuestion(
            _unit(here - there),
            f"the distance between the two {_whose(readout, sample, 2)}",
            "length",
        )
    number = _likeliest(here) if label is None else read_label(encoder, readout.head, label)
    found = _of_labels(encoder, readout, here, number, _likeliest(there))
    return found._replace(words=f"{found.words}, in this run minus in the other,")


def toward(vector: Vector, given: Any) -> ScoreQuestion:
    """The pooled vector along another one, of length 1."""
    try:
        other = torch.as_tensor(given).to(vector.detach())
    except (TypeError, ValueError, RuntimeError) as fault:
        raise InputError(f"toward is {said(given)}; give a text or a vector.") from fault
    if not bool(torch.isfinite(other).all()):
        raise InputError("toward holds NaN or infinite values; replace them first.")
    if other.shape != vector.shape or not 0 < float(other.norm()) < math.inf:
        raise InputError(
            f"toward has shape {tuple(other.shape)}; give a text, or a vector of "
            f"{len(vector)} numbers that are not all 0."
        )
    return ScoreQuestion(_unit(other), "the part of the vector along the other", "length")


def _of_labels(
    encoder: LoadedEncoder, readout: AnswerLogits, vector: Vector, number: int, other: int
) -> ScoreQuestion:
    """The logit of a label, minus that of another if it is one."""
    name, its = (quoted(encoder.output_name(readout.head, each)) for each in (number, other))
    if other == number:
        return ScoreQuestion(_one(vector, number), f"the logit of {name}", "logits")
    direction = _one(vector, number) - _one(vector, other)
    return ScoreQuestion(direction, f"the logit of {name} minus that of {its}", "logits")


def _rival(
    encoder: LoadedEncoder, readout: AnswerLogits, vector: Vector, number: int, rival: int | str
) -> int:
    if rival == RUNNER_UP:
        if len(vector) < 2:
            raise SelectionError(
                f"{encoder.card.name} gives a single score, so there is no runner-up; leave out "
                "against=."
            )
        first, second = vector.topk(2).indices.tolist()
        return int(second if first == number else first)
    other = read_label(encoder, readout.head, rival)
    if other == number:
        name = quoted(encoder.output_name(readout.head, number))
        raise SelectionError(f"label and against are both {name}; give two different ones.")
    return other


def _whose(readout: Readout, sample: Sample, n: int = 1) -> str:
    if isinstance(readout, FinalState):
        return f"final state{'s' * (n > 1)} of {quoted(sample.tokens[readout.token])}"
    return "vectors" if n > 1 else "vector of the whole input"


def _likeliest(vector: Vector) -> int:
    return int(vector.argmax())


def _one(vector: Vector, number: int) -> Vector:
    found = torch.zeros_like(vector)
    found[number] = 1.0
    return found


def _unit(vector: Vector) -> Vector:
    return vector / vector.norm()
