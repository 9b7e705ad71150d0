"""The views as the page, the command line and the export find them: by discovery, one a file."""

import importlib
import pkgutil

from viz_encoder.figures.view import View

_FOLDER = importlib.import_module("viz_encoder.figures").__path__
# Not by attribute: there, a view's function has replaced its module.
_MODULES = [
    importlib.import_module(f"viz_encoder.figures.{m.name}") for m in pkgutil.iter_modules(_FOLDER)
]
VIEWS: dict[str, View] = {m.VIEW.name: m.VIEW for m in _MODULES if hasattr(m, "VIEW")}


def placed(tab: str, slot: str) -> list[View]:
    """The views of a slot of the page, in their order."""
    found = [(view.place, view) for view in VIEWS.values() if view.place is not None]
    there = [(at.order, view) for at, view in found if (at.tab, at.slot) == (tab, slot)]
    return [view for _, view in sorted(there, key=lambda pair: pair[0])]
