"""Score: the number that is split, as it is read from runs of the same input."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.attribution.readout import AnswerLogits, FinalState, Of, Readout, readout_of
from viz_encoder.effects.measure import Measure, Outputs
from viz_encoder.effects.rerun import Rerun


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
class _Along:
    """The score of each output."""

    run: Rerun
    readout: Readout
    score: Score
    words: str

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """The vector along the direction, less what the other run has of it."""
        with torch.inference_mode():
            vectors = self.readout.vectors(self.run, outputs)
            along = (vectors * self.score.direction.to(vectors)).sum(dim=-1)
        found: Float[np.ndarray, " variant"] = along.double().cpu().numpy() - self.score.less
        return found

    def said(self, outputs: Outputs) -> None:
        """A score says nothing."""

    def name(self, number: int) -> str:
        """A score has no labels."""
        return ""


def kind_of(readout: Readout) -> Of:
    """What a readout reads, as a question says it."""
    match readout:
        case AnswerLogits(head):
            return str(head.task)  # type: ignore[return-value]
        case FinalState():
            return "state"
        case _:
            return "pooled"
