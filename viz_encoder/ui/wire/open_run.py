"""Opening a run beside the one that is shown, by a link or a saved file; and a page that closes."""

import tempfile
from pathlib import Path

from fastapi import APIRouter, Request, Response

from viz_encoder.errors import InputError
from viz_encoder.ui.state.restoring import restore
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Runs
from viz_encoder.ui.wire.bodies import body_of, json_object
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(prefix="/viz", route_class=ErrorRoute)
PLACES = Places(1)  # runs of a model
MAX_LINK = 2**16
NO_LINK = "What was sent is not the link of a run; send its parts as a JSON object of texts."


@ROUTER.post("/open/link")
async def open_link(request: Request, runs: Runs) -> Response:
    """The description of the run that a link asks for, held or made again."""
    query = _link(await body_of(request, MAX_LINK, "The link"))
    return await PLACES.answer(request, lambda: answers.plain(restore(runs, query), answers.FRESH))


@ROUTER.post("/open/saved")
async def open_saved(request: Request, runs: Runs) -> Response:
    """The description of a run that was saved to a file, the body of the request."""
    content = await body_of(request, request.app.state.max_upload, "The file")

    def work() -> Response:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "The file")  # as sentences about it begin
            path.write_bytes(content)
            return answers.plain(runs.saved(str(path)), answers.FRESH)

    return await PLACES.answer(request, work)


def _link(content: bytes) -> dict[str, str]:
    query = json_object(content, NO_LINK)
    if not all(isinstance(part, str) for part in query.values()):
        raise InputError(NO_LINK)
    return query


MAX_NAME = 64  # bytes; Gradio's names of sessions have 11


@ROUTER.post("/closed")
async def closed(request: Request, runs: Runs) -> Response:
    """Let go of what only this page showed, before it expires; a reload still finds it.

    Gradio knows it by a stream that every open page holds; a browser opens six connections to a
    server, so the seventh page in one browser would never load.
    """
    name = await body_of(request, MAX_NAME, "The session")
    runs.release(name.decode("utf-8", "replace"))
    return Response(status_code=204)
