"""Hypothesis: one cause of a wrong map, and the mask that a layer would have under it."""

from typing import NamedTuple

from jaxtyping import Bool
from torch import Tensor

Identity = tuple[str, str]  # the code of a cause, and its variant


class Hypothesis(NamedTuple):
    """One cause, and the mask it would produce."""

    code: str
    opened: Bool[Tensor, "batch *head query key"]  # one head's, if all are the same
    more: str = ""  # added to the cause's sentence
    variant: str = ""  # which one of those with this code; the same one must explain every batch

    @property
    def identity(self) -> Identity:
        """Identifies the same cause on another batch."""
        return self.code, self.variant
