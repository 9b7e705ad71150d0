"""Analyses, one file a method, each a function here: analyses.rollout(trace, query=3)."""

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any


def _discover() -> dict[str, Callable[..., Any]]:
    modules = (
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    )
    return {function.__name__: function for module in modules for function in module.ANALYSES}


_FOUND = _discover()
# The function takes the name of its module: analyses.rollout computes, as a person expects.
globals().update(_FOUND)


def __getattr__(name: str) -> Callable[..., Any]:
    """Only a name that is not an analysis comes here."""
    known = ", ".join(sorted(_FOUND))
    raise AttributeError(f"There is no analysis {name!r}; choose one of {known}.")


def __dir__() -> list[str]:
    """The analyses, by name."""
    return sorted(_FOUND)
