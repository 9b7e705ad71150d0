"""The tabs of the page beside Attention, one file each, found by discovery."""

import importlib
import pkgutil

from viz_encoder.ui.tab import Tab


def _discover() -> tuple[Tab, ...]:
    modules = (
        importlib.import_module(f"{__name__}.{found.name}")
        for found in pkgutil.iter_modules(__path__)
    )
    tabs = (module.TAB for module in modules if hasattr(module, "TAB"))
    return tuple(sorted(tabs, key=lambda tab: tab.order))


TABS = _discover()
