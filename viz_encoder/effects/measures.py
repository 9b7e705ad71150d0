"""The available measures, and the default for an input."""

import math
from typing import Annotated, Literal

from viz_encoder.arguments import OneOf
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import Task
from viz_encoder.effects.measure import (
    Logits,
    Measurable,
    Measure,
    MeasureArguments,
    PooledChange,
    StateChange,
)
from viz_encoder.effects.rerun import Rerun
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import Sample
from viz_encoder.trace.prediction_heads import masked_tokens, tasks

Name = Literal["pooled", "logit", "masked", "state"]
NAMES = ("pooled", "logit", "masked", "state")
NamedMeasure = Annotated[str, OneOf(NAMES)]
Measured = Annotated[
    NamedMeasure | Measurable, f"{', '.join(map(repr, NAMES))} or what vz.attribute returned"
]


def measure_of(name: Measured | None, run: Rerun, asked: MeasureArguments) -> Measure:
    """The measure of that name for this run, or of that score; if none is given, the usual one."""
    if name is None:
        name = usual(run)
    _require_used(name, asked)
    if not isinstance(name, str):
        return name.measure(run)
    match name:
        case "pooled":
            return PooledChange(run, asked.pooling)
        case "state":
            return StateChange(run, asked.at)
        case "masked":
            return Logits(run, Task.MASKED, asked)
        case _:
            if Task.CLASSIFY not in (known := tasks(run.encoder)) and Task.MASKED in known:
                raise SelectionError(
                    f"{run.encoder.card.name} has no prediction head 'classify', which the measure "
                    "'logit' reads; at a [MASK], the answers are compared by measure=\"masked\"."
                )
            return Logits(run, Task.CLASSIFY, asked)


def usual(run: Rerun) -> Name:
    """The measure that says most of this input: an answer if there is one, else the vector."""
    return available(run.encoder, run.sample)[0]


def available(encoder: LoadedEncoder, sample: Sample) -> tuple[Name, ...]:
    """The measures that this model and input have, the one that says most first."""
    spoken = tasks(encoder)
    answers: list[Name] = []
    if Task.MASKED in spoken and masked_tokens(sample.tokens):
        answers.append("masked")
    if Task.CLASSIFY in spoken:
        answers.append("logit")
    return *answers, "pooled", "state"


def _require_used(name: str | Measurable, asked: MeasureArguments) -> None:
    takes = {"pooled": ("pooling",), "state": ("at",), "logit": ("answer", "other")}
    allowed = takes.get(name, ("answer", "other", "at")) if isinstance(name, str) else ()
    its = repr(name) if isinstance(name, str) else "a score of its own"
    for option in ("answer", "other", "at", "pooling"):
        if getattr(asked, option) is not None and option not in allowed:
            raise SelectionError(
                f"The measure here is {its}, which does not use {option}=. Leave it out, or "
                "choose another measure."
            )


UNTOUCHED = "The measure is not a number even with all heads in place"


def require_number(value: float, fault: str = UNTOUCHED) -> float:
    """The value, if it is finite."""
    if not math.isfinite(value):
        raise InputError(
            f"{fault}: the model's weights or its output hold NaN or infinite values. Look at "
            "vz.capture(…).output first."
        )
    return value


def kind_of(encoder: LoadedEncoder) -> str:
    """Kind of input, for use in sentences."""
    return {"text": "texts", "image": "pictures", "vector": "inputs"}[encoder.kind]
