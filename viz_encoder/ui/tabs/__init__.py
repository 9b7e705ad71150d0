"""The tabs of the page, a folder each, found by discovery; none knows another."""

import importlib
import pkgutil

from viz_encoder.ui.tab import Tab


def _discover() -> tuple[Tab, ...]:
    folders = (found.name for found in pkgutil.iter_modules(__path__) if found.ispkg)
    tabs = (importlib.import_module(f"{__name__}.{folder}.tab").TAB for folder in folders)
    return tuple(sorted(tabs, key=lambda tab: tab.order))


TABS = _discover()
