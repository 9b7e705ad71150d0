"""The Learn tab: one token's way through an encoder, every number of it."""

import gradio as gr

from viz_encoder.ui.tab import Tab, TabContext, script_view
from viz_encoder.ui.tabs.learn.routes import ROUTER


def build(place: TabContext) -> gr.HTML:
    """Lay it out; its script follows the run and the selection that all tabs share."""
    return script_view("learn/tab.js", elem_id="viz-learn")


TAB = Tab("learn", "Learn", 70, build, ROUTER)
