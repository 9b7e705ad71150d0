"""Masked: of a run that was made with a painted mask, what was meant and what was planted."""

from dataclasses import dataclass
from enum import StrEnum
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import NoReturn

from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.mask_input.presets import PRESETS
from viz_encoder.errors import SelectionError
from viz_encoder.trace.mask_scope import MaskScope


class Mistake(StrEnum):
    """A mistake that code makes with masks, planted so that one sees what it does."""

    NONE = "none"
    IGNORED = "ignored"
    INVERTED = "inverted"
    TRANSPOSED = "transposed"

    @property
    def words(self) -> str:
        """What the code does with the mask, in words."""
        return _WORDS[self]

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        choices = ", ".join(repr(member.value) for member in cls)
        raise SelectionError(f"There is no mistake {shown(value)}; choose one of {choices}.")


_WORDS = {
    Mistake.NONE: "passes it on unchanged",
    Mistake.IGNORED: "ignores it",
    Mistake.INVERTED: "inverts it (reads True as ignore)",
    Mistake.TRANSPOSED: "transposes it (reads queries as keys)",
}


def planted(mask: Bool[Tensor, "query key"], mistake: Mistake) -> Bool[Tensor, "query key"] | None:
    """The mask as the mistaken code passes it on; None where it passes none."""
    made = {Mistake.NONE: mask, Mistake.INVERTED: ~mask, Mistake.TRANSPOSED: mask.T}
    return made.get(mistake)


@dataclass(frozen=True, eq=False)
class Masked:
    """The mask that was meant, the mistake that was planted, and the run without either."""

    intent: Bool[Tensor, "query key"]
    mistake: Mistake
    plain: str  # its key
    scope: MaskScope  # the layers and heads that it was meant for

    @property
    def nbytes(self) -> int:
        """Bytes of the mask."""
        return self.intent.nbytes

    @property
    def words(self) -> str:
        """The mask in a few words, for every view of its run; "" where it changes nothing."""
        forbidden, n_pairs = int((~self.intent).sum()), self.intent.numel()
        if not forbidden and self.mistake is Mistake.NONE:
            return ""
        pairs = f"{forbidden:,} of {n_pairs:,} pairs forbidden" if forbidden else "forbids nothing"
        name = _preset_name(self.intent) if forbidden else ""
        mistaken = "" if self.mistake is Mistake.NONE else f"; the code {self.mistake.words}"
        where = "" if self.scope.whole else f", in {self.scope.words}"
        return f"{name}{', ' if name else ''}{pairs}{where}{mistaken}"


def _preset_name(mask: Bool[Tensor, "query key"]) -> str:
    """Name of a preset with its usual sizes, such as "causal"."""
    n_tokens = len(mask)
    same = (its for its in PRESETS.values() if bool((its.mask(n_tokens) == mask).all()))
    return next((its.label.lower() for its in same), "")
