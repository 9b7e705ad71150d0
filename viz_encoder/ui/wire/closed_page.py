"""Handles a closed page's message, to release its runs and sets before they expire.

Gradio knows it by a stream that every open page holds; a browser opens six connections to a
server, so the seventh page in one browser would never load.
"""

from fastapi import APIRouter, Request, Response

from viz_encoder.ui.wire.arguments import Runs
from viz_encoder.ui.wire.bodies import body_of
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(prefix="/viz", route_class=ErrorRoute)
MAX_NAME = 64  # bytes; Gradio's names of sessions have 11


@ROUTER.post("/closed")
async def closed(request: Request, runs: Runs) -> Response:
    """Let go of what only this page showed; a reload still finds it."""
    name = await body_of(request, MAX_NAME, "The session")
    runs.release(name.decode("utf-8", "replace"))
    return Response(status_code=204)
