"""The Flow tab: where one token's information comes from, by three measures over depth."""

import gradio as gr

from viz_encoder.ui.tab import Tab, TabContext, script_view


def build(place: TabContext) -> gr.HTML:
    """Lay it out; its script follows the run and the selection that all tabs share."""
    return script_view("flow/tab.js", elem_id="viz-flow")


TAB = Tab("flow", "Flow", 20, build)
