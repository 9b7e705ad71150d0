"""Plotly figures, one file a view, each a function here: figures.attention_map(trace, layer=3)."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import replace

import plotly.graph_objects as go

from viz_encoder.figures.untrained import marked
from viz_encoder.figures.view import View


def _discover() -> dict[str, View]:
    modules = (
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    )
    views = (module.VIEW for module in modules if hasattr(module, "VIEW"))
    return {view.name: replace(view, draw=marked(view.draw)) for view in views}


VIEWS = _discover()
# The function takes the name of its module: figures.attention_map draws, as a person expects.
globals().update({name: view.draw for name, view in VIEWS.items()})


def placed(tab: str, slot: str) -> list[View]:
    """The views of a slot of the page, in their order."""
    found = [(view.place, view) for view in VIEWS.values() if view.place is not None]
    there = [(at.order, view) for at, view in found if (at.tab, at.slot) == (tab, slot)]
    return [view for _, view in sorted(there, key=lambda pair: pair[0])]


def __getattr__(name: str) -> Callable[..., go.Figure]:
    """Only a name that is no view comes here."""
    raise AttributeError(f"There is no view {name!r}; choose one of {', '.join(VIEWS)}.")


def __dir__() -> list[str]:
    """The views, by name."""
    return sorted(VIEWS)
