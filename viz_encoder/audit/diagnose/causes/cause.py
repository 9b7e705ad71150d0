"""Cause: what is wrong with a mask, in a sentence, and the fix in code."""

from typing import NamedTuple


class Cause(NamedTuple):
    """What is wrong, and the fix."""

    sentence: str
    cure: str
