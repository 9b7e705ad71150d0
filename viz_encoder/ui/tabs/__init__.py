"""The tabs of the page, a folder each, found by discovery; none knows another."""

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz_encoder.ui.tab import Tab

    TABS: tuple[Tab, ...]


def __getattr__(name: str) -> Any:
    """TABS, in their order, once asked for: a tab's routes can be imported without Gradio."""
    if name != "TABS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    folders = (found.name for found in pkgutil.iter_modules(__path__) if found.ispkg)
    tabs = (importlib.import_module(f"{__name__}.{folder}.tab").TAB for folder in folders)
    globals()[name] = tuple(sorted(tabs, key=lambda tab: tab.order))
    return globals()[name]
