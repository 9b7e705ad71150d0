"""GradioFaults: what Gradio cannot read is refused in a sentence, and in one line of the log."""

import logging

from fastapi import HTTPException
from gradio.route_utils import FnIndexInferError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viz_encoder.ui.wire.refusals import refuse, tell

API = "/gradio_api/"
FAILED = 500  # what a framework answers before it raises
NOT_HERE = 404, "There is no such endpoint or call here; /gradio_api/info lists the endpoints."
BROKEN = "That failed; the server's log says why."
log = logging.getLogger(__name__)


class GradioFaults:
    """Keeps an answer back until its first part is there: by then, Gradio has raised or not."""

    def __init__(self, app: ASGIApp) -> None:
        """Before Gradio's app."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, or with a sentence where the app raised."""
        if scope["type"] != "http" or API not in scope["path"]:
            return await self._app(scope, receive, send)
        held: list[Message] = []
        begun = False

        async def hold(message: Message) -> None:
            nonlocal begun
            held.append(message)
            begun = begun or (held[0]["status"] != FAILED and len(held) > 1)
            while begun and held:
                await send(held.pop(0))

        try:
            await self._app(scope, receive, hold)
        except Exception as fault:
            if _is_of_the_request(fault):
                return await (self._end(scope, send) if begun else refuse(scope, send, *NOT_HERE))
            if begun:
                raise
            log.exception("%s failed", scope["path"])
            return await refuse(scope, send, FAILED, BROKEN)
        for message in held:
            await send(message)

    async def _end(self, scope: Scope, send: Send) -> None:
        """End a stream that says itself what is wrong, as a whole answer."""
        tell(scope, *NOT_HERE)
        await send({"type": "http.response.body", "body": b""})


def _is_of_the_request(fault: BaseException | None) -> bool:
    """Whether what was raised says that a name, a number or a session is none of this server."""
    known = isinstance(fault, FnIndexInferError | KeyError | HTTPException)
    return known or (fault is not None and _is_of_the_request(fault.__cause__))
