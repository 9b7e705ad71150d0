"""The What if tab: what removing something changes, and which head has the largest effect."""

import gradio as gr

from viz_encoder.ui.tab import Tab, TabContext, script_view
from viz_encoder.ui.tabs.whatif.endpoints import ENDPOINTS
from viz_encoder.ui.tabs.whatif.routes import ROUTER

TITLE = "What if: several heads, patching"


def build(place: TabContext) -> gr.HTML:
    """Lay it out; its script follows the run and the selection that all tabs share."""
    return script_view("whatif/tab.js", elem_id="viz-whatif")


TAB = Tab("whatif", TITLE, 15, build, ROUTER, ENDPOINTS, "Explore", folded=True)
