"""The Mask zoo tab: every planted bug with its symptom, its picture and its corrected line."""

import gradio as gr

from viz_encoder.ui.tab import Tab, TabContext, script_view
from viz_encoder.ui.tabs.zoo.endpoints import ENDPOINTS
from viz_encoder.ui.tabs.zoo.routes import ROUTER


def build(place: TabContext) -> gr.HTML:
    """Lay it out; it needs no run."""
    return script_view("zoo/tab.js", elem_id="viz-zoo")


TAB = Tab("zoo", "Mask zoo", 60, build, ROUTER, ENDPOINTS, "Masks")
