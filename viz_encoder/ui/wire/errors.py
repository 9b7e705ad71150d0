"""Errors as plain sentences on the page, in responses and in the log, unexpected ones too."""

import html
import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.types import Scope, Send

from viz_encoder.errors import Expired, VizEncoderError

NO_MEMORY = "That needs more memory than is available; shorten the input."
FAULT = "x-fault"  # marks an error in the response
log = logging.getLogger(__name__)
UNFORESEEN = (
    "That part of the run could not be computed; the server's log says why. Choose another part, "
    "or run it again."
)


def alert(sentence: str) -> str:
    """A sentence in a box that screen readers announce."""
    return f'<div class="viz-alert" role="alert">{html.escape(sentence)}</div>'


class ErrorRoute(APIRoute):
    """A route that says in a sentence what nobody foresaw; the log has the details."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with what it raises turned into an answer."""
        handle = super().get_route_handler()

        async def handle_plainly(request: Request) -> Response:
            try:
                return await handle(request)
            except (VizEncoderError, RequestValidationError):
                raise
            except Exception:
                log.exception("%s failed", request.url.path)
                return sentence(UNFORESEEN, 422)

        return handle_plainly


class ToldRoute(ErrorRoute):
    """A route whose faults are of what was sent: 422, or with "told" in the query an answer.

    Browsers report every refusal in their console; a page that can say what is wrong asks for the
    answer, which is marked with x-fault.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with what is wrong with a request turned into its answer."""
        handle = super().get_route_handler()

        async def handle_told(request: Request) -> Response:
            try:
                return await handle(request)
            except Expired:
                raise
            except VizEncoderError as fault:
                if "told" not in request.query_params:
                    return sentence(str(fault), 422)
                answer = sentence(str(fault), 200)
                answer.headers[FAULT] = "1"
                return answer

        return handle_told


def add_error_sentences(app: FastAPI) -> None:
    """Answer every fault of a request with its sentence."""
    app.add_exception_handler(VizEncoderError, _known)
    app.add_exception_handler(RequestValidationError, _wrong_parameter)


def sentence(message: str, status: int) -> JSONResponse:
    """A fault as the page reads it, which no cache keeps."""
    return JSONResponse({"message": message}, status, {"cache-control": "no-store"})


async def _known(_: Request, fault: Exception) -> JSONResponse:
    return sentence(str(fault), 410 if isinstance(fault, Expired) else 404)


async def _wrong_parameter(_: Request, fault: Exception) -> JSONResponse:
    assert isinstance(fault, RequestValidationError)
    first = fault.errors()[0]
    return sentence(f"{first['loc'][-1]} is {shown(first['input'])}: {first['msg'].lower()}.", 422)


LONGEST = 200  # characters of an address in the log


async def refuse(
    scope: Scope, send: Send, status: int, sentence: str, more: Mapping[str, str] | None = None
) -> None:
    """Answer with a sentence, for the page ("message") and for Gradio's clients ("detail")."""
    tell(scope, status, sentence)
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": 1008})
    body = json.dumps({"message": sentence, "detail": sentence}).encode()
    told = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "cache-control": "no-store",
        **(more or {}),
    }
    headers = [(name.encode(), value.encode()) for name, value in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def tell(scope: Scope, status: int, sentence: str) -> None:
    """Write the one line, of what was refused to whom."""
    sender = (scope.get("client") or ("?",))[0]
    path = ascii(scope["path"][:LONGEST])
    kind = scope.get("method", "WebSocket")
    log.warning("%d %s %s from %s: %s", status, kind, path, ascii(sender), sentence)
