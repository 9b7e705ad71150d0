"""The Explore tab: the maps of a run, and what is known of every head."""

import gradio as gr

from viz_encoder.ui.tab import Tab, TabContext, script_view
from viz_encoder.ui.tabs.explore.endpoints import ENDPOINTS
from viz_encoder.ui.tabs.explore.routes import ROUTER


def build(place: TabContext) -> gr.HTML:
    """Lay it out; its script follows the run and the selection that all tabs share."""
    return script_view("explore/tab.js", elem_id="viz-explore")


TAB = Tab("explore", "Explore", 10, build, ROUTER, ENDPOINTS)
