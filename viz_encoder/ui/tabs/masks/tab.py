"""The Masks tab: see a mask, paint it, run with it; known mask bugs, and a quiz of them."""

import gradio as gr
from fastapi import APIRouter

from viz_encoder.ui.tab import Tab, TabContext, script_view
from viz_encoder.ui.tabs.masks import routes, zoo_routes
from viz_encoder.ui.tabs.masks.endpoints import ENDPOINTS
from viz_encoder.ui.tabs.masks.zoo_endpoints import zoo, zoo_audit

ROUTER = APIRouter()
ROUTER.include_router(routes.ROUTER)
ROUTER.include_router(zoo_routes.ROUTER)


def build(place: TabContext) -> gr.HTML:
    """Lay it out; its script follows the run and the selection that all tabs share."""
    return script_view("masks/tab.js", elem_id="viz-masks")


TAB = Tab("masks", "Masks", 50, build, ROUTER, (*ENDPOINTS, zoo, zoo_audit))
