"""Inputs to run: one, or a list, each run separately without padding."""

from numbers import Integral
from typing import Any

from viz_encoder.errors import InputError


def one_by_one(given: Any) -> list[Any]:
    """Each input by itself; a list of numbers is one input, a list of anything else is several.

    Raises:
        InputError: none.
    """
    if not isinstance(given, list):
        return [given]
    if not given:
        raise InputError("The list is empty; give at least one input.")
    return [given] if isinstance(given[0], Integral) else given
