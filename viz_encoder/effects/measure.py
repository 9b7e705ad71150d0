"""Measure: one number of an encoder's output, which may change when something is removed."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.arguments import Token

Outputs = Float[Tensor, "variant token d_model"]


class BestLabels(NamedTuple):
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

    def said(self, outputs: Outputs) -> BestLabels | None:
        """The prediction head's answer; None for measures without one."""

    def name(self, number: int) -> str:
        """Name of a label."""


class NoAnswer:
    """What a measure of vectors says: no answer, and no label."""

    def said(self, outputs: Outputs) -> None:
        """No answer."""

    def name(self, number: int) -> str:
        """No label."""
        return ""


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
