"""Old names that work for one more version, each with a warning that says the new one."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Former = str | tuple[str, Callable[[Any], Any]]  # the new name, and how the old value becomes it


def renamed(**former: Former) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take keywords by their old names: renamed(hide=("hide_special", bool)).

    Raises:
        TypeError: when called, if both names of one keyword are given.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            for old in [name for name in named if name in former]:
                new, convert = _read(former[old])
                if new in named:
                    raise TypeError(f"{function.__name__}() was given {new}= and its old name.")
                warn_renamed(f"{old}=", f"{new}=")
                named[new] = convert(named.pop(old))
            return function(*args, **named)

        return call

    return decorate


def renamed_property(
    old: str, new: str, convert: Callable[[Any], Any] = lambda value: value
) -> Any:
    """An attribute by its old name, which reads the new one."""

    def read(self: object) -> Any:
        warn_renamed(f".{old}", f".{new}")
        return convert(getattr(self, new))

    read.__doc__ = f"The former name of `{new}`."
    return property(read)


def warn_renamed(old: str, new: str) -> None:
    """Say which name to write, at the line that called whoever calls this."""
    words = f"{old} is deprecated; use {new}. The old name will be removed in the next version."
    warnings.warn(words, DeprecationWarning, stacklevel=3)


def _read(former: Former) -> tuple[str, Callable[[Any], Any]]:
    return (former, lambda value: value) if isinstance(former, str) else former
