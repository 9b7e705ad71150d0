"""Diagnosis: a cause in words, with its fix; one of several; or that none is known."""

import math
import tomllib
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from viz_encoder.audit.report import UNSURE, Diagnosis
from viz_encoder.bundled import asset

UNKNOWN = Diagnosis(
    "",
    "not known.",
    "To narrow it down, compare what reaches the attention calls with intent(valid): "
    "first the mask, then the order of tokens and samples.",
)


class Cause(NamedTuple):
    """What is wrong with a mask, in a sentence, and the fix in code."""

    sentence: str
    cure: str


@cache
def causes() -> dict[str, Cause]:
    """The known causes by their codes."""
    given = tomllib.loads(asset("causes.toml").read_text(encoding="utf-8"))
    return {code: Cause(**texts) for code, texts in given.items()}


def diagnose(code: str, *, more: str = "", sure: bool = True) -> Diagnosis:
    """The cause of that code in words."""
    sentence, cure = causes()[code]
    return Diagnosis(code, f"{'' if sure else UNSURE}{sentence}{more}.", cure)


def either(codes: Sequence[str]) -> Diagnosis:
    """One of several causes that cannot be told apart."""
    first = diagnose(codes[0], sure=False)
    also = "; or ".join(causes()[code].sentence for code in codes)
    return Diagnosis(codes[0], f"{UNSURE}{also}.", first.cure)


def diagnose_constant(value: float) -> Diagnosis:
    """A number that bans too little, with the weight that it leaves."""
    leaves = f": {math.exp(value):.2g} of an allowed key's weight" if value > -100 else ""
    return diagnose("constant", more=f" (here {value:.3g}{leaves})")
