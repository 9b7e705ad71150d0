"""Measure: one number of an encoder's output, which may change when something is removed."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.arguments import Token

Outputs = Float[Tensor, "variant token d_model"]


class Said(NamedTuple):
    """A prediction head's best label for each variant, with its probability."""

    labels: Int[np.ndarray, " variant"]
    shares: Float[np.ndarray, " variant"]


@runtime_checkable
class Measure(Protocol):
    """A number of an output; `words` says in plain words what it is."""

    @property
    def words(self) -> str:
        """Description of the measure."""

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """The number, for each variant."""

    def said(self, outputs: Outputs) -> Said | None:
        """The prediction head's answer; None for measures without one."""

    def name(self, number: int) -> str:
        """Name of a label."""


@dataclass(frozen=True)
class MeasureArguments:
    """Arguments of a measure besides its name; None is chosen per input."""

    answer: str | None = None
    other: str | None = None
    at: Token | None = None
    pooling: str | None = None
