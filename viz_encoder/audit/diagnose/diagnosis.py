"""Diagnosis: a cause in words, with its fix; one of several; or that none is known."""

import math
from collections.abc import Sequence

from viz_encoder.audit.diagnose.causes import CAUSES
from viz_encoder.audit.report import UNSURE, Diagnosis

UNKNOWN = Diagnosis(
    "",
    "not known.",
    "To narrow it down, compare what reaches the attention calls with intent(valid): "
    "first the mask, then the order of tokens and samples.",
)


def diagnose(code: str, *, more: str = "", sure: bool = True) -> Diagnosis:
    """The cause of that code in words."""
    cause, cure = CAUSES[code]
    return Diagnosis(code, f"{'' if sure else UNSURE}{cause}{more}.", cure)


def either(codes: Sequence[str]) -> Diagnosis:
    """One of several causes that cannot be told apart."""
    first = diagnose(codes[0], sure=False)
    also = "; or ".join(CAUSES[code].sentence for code in codes)
    return Diagnosis(codes[0], f"{UNSURE}{also}.", first.cure)


def diagnose_constant(value: float) -> Diagnosis:
    """A number that bans too little, with the weight that it leaves."""
    leaves = f": {math.exp(value):.2g} of an allowed key's weight" if value > -100 else ""
    return diagnose("constant", more=f" (here {value:.3g}{leaves})")
