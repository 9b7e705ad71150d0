"""Which measures there are, and which of them says most of an input."""

from typing import Literal

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import Task
from viz_encoder.effects.logits import Logits, masked_places
from viz_encoder.effects.measure import Asked, Measure
from viz_encoder.effects.rerun import Rerun
from viz_encoder.effects.vectors import Pooled, State
from viz_encoder.errors import SelectionError
from viz_encoder.trace.prediction_heads import tasks

Name = Literal["pooled", "logit", "masked", "state"]
NAMES = ("pooled", "logit", "masked", "state")


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
    if Task.MASKED in spoken and masked_places(run):
        return "masked"
    return "logit" if Task.CLASSIFY in spoken else "pooled"


def kind_of(encoder: LoadedEncoder) -> str:
    """What the encoder reads, for sentences."""
    return {"text": "texts", "image": "pictures", "vector": "inputs"}[encoder.kind]
