"""GradioFaults: what Gradio cannot read is refused in a sentence, and in one line of the log."""

import errno
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb

from fastapi import HTTPException
from gradio.route_utils import FnIndexInferError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viz_encoder.ui.wire.endpoints import UNFORESEEN
from viz_encoder.ui.wire.errors import refuse, tell
from viz_encoder.whole_file import shortened

FAILED = 500  # status a framework sends before it raises
NOT_HERE = (
    404,
    "There is no such file, endpoint or call here; /gradio_api/info lists the endpoints.",
)
NO_FILE = (
    400,
    "Send each file as a part of multipart/form-data that is named files and has a filename.",
)
UNREAD = "The request cannot be read: {}."
BROKEN = "That failed; the server's log says why."
OURS = str(Path(__file__).parents[2])  # the package
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GradioFaults:
    """Keeps an answer back until its first part is there: by then, Gradio has raised or not."""

    app: ASGIApp  # Gradio's: no other of our layers may stand between

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, or with a sentence where the app raised."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        held: list[Message] = []
        begun = False

        async def hold(message: Message) -> None:
            nonlocal begun
            held.append(message)
            begun = begun or (_status(held) != FAILED and len(held) > 1)
            while begun and held:
                await send(held.pop(0))

        try:
            await self.app(scope, receive, hold)
        except Exception as fault:
            refusal = _refusal(scope, fault)
            if begun and refusal == NOT_HERE:
                return await self._end(scope, send)
            if begun:
                raise
            if refusal is None:
                log.exception("%s failed", ascii(scope["path"]))
            return await refuse(scope, send, *(refusal or (FAILED, BROKEN)))
        for message in _as_refusal(held):
            await send(message)

    async def _end(self, scope: Scope, send: Send) -> None:
        """End a stream that says itself what is wrong, as a whole answer."""
        tell(scope, *NOT_HERE)
        await send({"type": "http.response.body", "body": b""})


def _status(held: list[Message]) -> int:
    status: int = held[0].get("status", 0) if held else 0
    return status


def _refusal(scope: Scope, fault: Exception) -> tuple[int, str] | None:
    """The status and the sentence of what is wrong with the request; None if it is the server."""
    if _is_missing(fault):
        return NOT_HERE
    if _in_ours(fault) or not _is_of_reading(fault):
        return None
    if scope["path"].endswith("/upload"):
        return NO_FILE
    return 422, UNREAD.format(shortened(ascii(str(fault))[1:-1].rstrip(".")))


def _is_missing(fault: BaseException | None) -> bool:
    """Whether what was raised says that a name, a number or a session is none of this server."""
    known = isinstance(fault, FnIndexInferError | KeyError | HTTPException)
    known = known or (isinstance(fault, OSError) and fault.errno == errno.ENAMETOOLONG)
    return known or (fault is not None and _is_missing(fault.__cause__))


def _is_of_reading(fault: Exception) -> bool:
    plain = isinstance(fault, TypeError | ValueError | AttributeError)
    return plain or type(fault).__module__ != "builtins"


def _in_ours(fault: Exception) -> bool:
    """Whether code of ours ran after this layer: then, as far as known, the server is at fault."""
    files = [frame.f_code.co_filename for frame, _ in walk_tb(fault.__traceback__)]
    return any(file.startswith(OURS) for file in files[1:])


def _as_refusal(held: list[Message]) -> list[Message]:
    """An answer that was kept; where Gradio calls a refusal of ours a failure, a refusal."""
    if _status(held) != FAILED:
        return held
    try:
        said = json.loads(b"".join(message.get("body", b"") for message in held))["error"]
    except (ValueError, KeyError, TypeError):
        return held
    if isinstance(said, str) and said != UNFORESEEN:
        held[0]["status"] = 422
    return held
