"""The Masks tab: see a mask, paint it, run with it, and compare."""

import gradio as gr

from viz_encoder.ui.tab import Tab, TabContext, script_view
from viz_encoder.ui.tabs.masks.endpoints import ENDPOINTS
from viz_encoder.ui.tabs.masks.routes import ROUTER


def build(place: TabContext) -> gr.HTML:
    """Lay it out; its script follows the run and the selection that all tabs share."""
    return script_view("masks/tab.js", elem_id="viz-masks")


TAB = Tab("masks", "Paint and check", 50, build, ROUTER, ENDPOINTS, "Masks")
