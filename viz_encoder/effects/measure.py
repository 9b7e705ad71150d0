"""Measure: one number of an encoder's output, which may change when something is removed."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.errors import SelectionError

Outputs = Float[Tensor, "variant token d_model"]


class Said(NamedTuple):
    """What a prediction head says of each variant: its best label, and how likely that is."""

    labels: Int[np.ndarray, " variant"]
    shares: Float[np.ndarray, " variant"]


@runtime_checkable
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

    answer: Any = None  # a string, once it is checked
    other: Any = None
    at: Any = None  # a whole number
    pooling: str | None = None

    def check(self) -> None:
        """Refuse what is of another kind.

        Raises:
            SelectionError: an answer that is not a string, or a token that is not an integer.
        """
        for name, value in (("answer", self.answer), ("other", self.other)):
            if value is not None and not isinstance(value, str):
                raise SelectionError(f"{name} is {value!r}; give a word or label as a string.")
        whole = isinstance(self.at, Integral) and not isinstance(self.at, bool)
        if self.at is not None and not whole:
            raise SelectionError(f"at is {self.at!r}; give the number of a token, such as at=3.")
