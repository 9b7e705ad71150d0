"""The views as the page, the command line and the export find them: by discovery, one a file."""

import pkgutil
from importlib import import_module
from pathlib import Path

from viz_encoder.figures.view import View

_FILES = pkgutil.iter_modules([str(Path(__file__).parent)])
# Not by attribute: there, a view's function has replaced its module.
_MODULES = [import_module(f"{__package__}.{file.name}") for file in _FILES]
VIEWS: dict[str, View] = {m.VIEW.name: m.VIEW for m in _MODULES if hasattr(m, "VIEW")}


def placed(tab: str, slot: str) -> list[View]:
    """The views of a slot of the page, in their order."""
    found = [(view.place, view) for view in VIEWS.values() if view.place is not None]
    there = [(at.order, view) for at, view in found if (at.tab, at.slot) == (tab, slot)]
    return [view for _, view in sorted(there, key=lambda pair: pair[0])]
