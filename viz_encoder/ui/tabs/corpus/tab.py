"""The Corpus tab: what each head does over many texts, and where it is strongest."""

import gradio as gr

from viz_encoder.ui.tab import Tab, TabContext, script_view
from viz_encoder.ui.tabs.corpus.endpoints import ENDPOINTS
from viz_encoder.ui.tabs.corpus.routes import ROUTER


def build(place: TabContext) -> gr.HTML:
    """Lay it out; it opens on a table that ships, and needs no run."""
    return script_view("corpus/tab.js", elem_id="viz-corpus")


TAB = Tab("corpus", "Corpus", 80, build, ROUTER, ENDPOINTS)
