"""The Hidden states tab: how alike the tokens are, how they move, and what the head would say."""

import gradio as gr

from viz_encoder.ui.tab import Tab, TabContext, script_view
from viz_encoder.ui.tabs.hidden.endpoints import ENDPOINTS
from viz_encoder.ui.tabs.hidden.routes import ROUTER


def build(place: TabContext) -> gr.HTML:
    """Lay it out; its script follows the run and the selection that all tabs share."""
    return script_view("hidden/tab.js", elem_id="viz-hidden")


TAB = Tab("hidden", "Hidden states", 30, build, ROUTER, ENDPOINTS, "Vectors")
