"""Checks of single values: each refuses what cannot be in one plain sentence."""

import math
from reprlib import repr as shown  # cut short: the value may be a stranger's, of any length
from typing import Any

from viz_encoder.errors import ConfigError

LARGEST_NUMBER = 1e300  # a whole number can be too large for a float
LARGEST_COUNT = 10**12  # no axis of any model comes near; larger numbers overflow


def require_count(name: str, value: object, least: int = 1) -> None:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(
            f"{name} is {shown(value)}; it must be a whole number of at least {least}."
        )
    if value > LARGEST_COUNT:
        raise ConfigError(f"{name} is over {LARGEST_COUNT:,}; no machine could hold that.")


def require_switch(name: str, value: object) -> None:
    """True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name} is {shown(value)}; it must be True or False.")


def require_above_zero(name: str, value: object) -> None:
    """A finite number above 0."""
    if not 0 < number(value) < math.inf:
        raise ConfigError(f"{name} is {shown(value)}; it must be a number above 0.")


def number(value: object) -> float:
    """The value, or NaN, which is within no bounds, where it is no number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < LARGEST_NUMBER else math.inf
    return math.nan


def listed(name: str, value: object, kind: type) -> tuple[Any, ...]:
    """A list of texts or of whole numbers, as a tuple."""
    right = isinstance(value, tuple | list) and all(isinstance(x, kind) for x in value)
    if not right or (kind is int and any(isinstance(x, bool) for x in value)):  # type: ignore[attr-defined]
        what = "whole numbers" if kind is int else "texts"
        raise ConfigError(f"{name} is {shown(value)}; it must be a list of {what}.")
    return tuple(value)  # type: ignore[arg-type]


def require_known(name: str, value: tuple[str, ...], known: tuple[str, ...]) -> None:
    """A list of known names."""
    unknown = [one for one in value if one not in known]
    if unknown:
        raise ConfigError(
            f"{name} names {shown(unknown[0])}; it may name {', '.join(map(repr, known))}."
        )
